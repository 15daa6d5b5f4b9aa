import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { killAtExit } from '#bench/at-exit'
import { projectRoot } from '#bench/project-root'

/** How long a program may take to end before it is killed. */
const stopMsMax = 5_000
/** Nothing that is asked takes so long; a load that waits for ever would cost the rounds that were measured before. */
const answerMsMax = 15 * 60_000

interface Answer {
  readonly id: number
  readonly value?: unknown
  readonly error?: string
}

/** A program of ours in a process of its own, of which things are asked. It ends when we do. */
export class Remote {
  readonly #child: ChildProcess
  readonly #open = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>()
  readonly #ended: Promise<void>
  #next = 1

  /** `program`: its place below `bench`, without the ending. */
  constructor(program: string, nodeArguments: readonly string[] = []) {
    this.#child = fork(join(projectRoot, `dist/bench/${program}.js`), [], {
      execArgv: ['--enable-source-maps', ...nodeArguments],
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
