import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { killAtExit } from '#bench/exit-cleanup'
import { projectRoot } from '#bench/project-root'

/** A program that does not exit within this time is killed. */
const stopMsMax = 5_000
/** Longer than any call. Without a limit, a load that waits for ever would make all earlier rounds useless. */
const answerMsMax = 15 * 60_000

interface Answer {
  readonly id: number
  readonly value?: unknown
  readonly error?: string
}

/** One of our programs in its own process, with functions that can be called. It exits with this process. */
export class Remote {
  readonly #child: ChildProcess
  readonly #open = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>()
  readonly #ended: Promise<void>
  #next = 1

  /** `program`: its path below `bench`, without extension. */
  constructor(program: string) {
    this.#child = fork(join(projectRoot, `dist/bench/${program}.js`), [], {
      execArgv: ['--enable-source-maps'],
      env: { ...process.env, UV_THREADPOOL_SIZE: '8', UWS_HTTP_MAX_HEADERS_SIZE: '16384' },
    })
    killAtExit(this.#child)
    this.#child.on('message', ({ id, value, error }: Answer) => {
      const asked = this.#open.get(id)
      this.#open.delete(id)
      if (error === undefined) asked?.resolve(value as never)
      else asked?.reject(new Error(error))
    })
    this.#ended = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => {
        for (const { reject } of this.#open.values()) reject(new Error(`${program} ended (${code ?? signal})`))
        this.#open.clear()
        resolve()
      })
    })
  }

  get processId(): number {
    return this.#child.pid ?? 0
  }

  ask<Answered>(what: string, argument?: unknown): Promise<Answered> {
    const id = this.#next++
    let timer: NodeJS.Timeout | undefined
    const answered = new Promise<Answered>((resolve, reject) => {
      this.#open.set(id, { resolve, reject })
      timer = setTimeout(() => reject(new Error(`'${what}' was not answered in time`)), answerMsMax)
      this.#child.send({ id, what, argument }, (error) => {
        if (error) reject(error)
      })
    })
    return answered.finally(() => clearTimeout(timer))
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), stopMsMax)
    await this.#ended
    clearTimeout(timer)
  }
}

/** The other end of a `Remote`: serves the functions that it can call, by name. The process ends with its parent. */
export function serveFunctions(answers: Readonly<Record<string, (argument: never) => unknown>>): void {
  process.on('message', async ({ id, what, argument }: { id: number; what: string; argument: never }) => {
    try {
      process.send?.({ id, value: await answers[what]?.(argument) })
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  })
  process.once('disconnect', () => process.exit())
}
