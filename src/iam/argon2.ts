import { Worker } from 'node:worker_threads'
import type { PasswordEngine } from '#iam/password-hashing'

/**
 * argon2id (RFC 9106) with what OWASP asks for at least: 19 MiB, twice over, one lane. 15 to 22 ms of a core. Written out,
 * so that a library that changes its mind does not change ours.
 */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 }

/**
 * What runs in the thread. As text, because the module it would be is no file where the sources are run as they are. On
 * Linux a thread has a priority of its own; elsewhere it would be that of the whole process.
 */
const program = `
  import { createRequire } from 'node:module'
  import { constants, setPriority } from 'node:os'
  import { parentPort, workerData } from 'node:worker_threads'
  if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW)
  const { hashSync, verifySync } = createRequire(workerData.from)('@node-rs/argon2')
  parentPort.on('message', ({ stored, password }) => {
    try {
      const value = stored === undefined ? hashSync(password, workerData.cost) : verifySync(stored, password)
      parentPort.postMessage({ value })
    } catch (error) {
      parentPort.postMessage({ error: error.message })
    }
  })
`

interface Question {
  /** Undefined: the password is to be hashed, not compared. */
  readonly stored?: string
  readonly password: string
}

interface Answer {
  readonly value?: unknown
  readonly error?: string
}

interface Asked {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/**
 * A thread for passwords, below all others of the process: somebody who signs in can wait, and events can't. With two cores
 * a flood of logins made half of all events take ten times as long otherwise. Begun with the first password, and anew when it
 * has died; it keeps no process alive but while it is asked.
 */
class PasswordThread implements PasswordEngine {
  #worker: Worker | undefined
  /** In the order in which they are answered. */
  readonly #asked: Asked[] = []

  hash(password: string): Promise<string> {
    return this.#ask({ password }) as Promise<string>
  }

  verify(stored: string, password: string): Promise<boolean> {
    return this.#ask({ stored, password }) as Promise<boolean>
  }

  #ask(question: Question): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#worker ??= this.#begin()
      this.#asked.push({ resolve, reject })
      this.#worker.ref()
      this.#worker.postMessage(question)
    })
  }

  #begin(): Worker {
    const workerData = { from: import.meta.url, cost }
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`), { workerData })
    worker.on('message', ({ value, error }: Answer) => {
      const asked = this.#asked.shift()
      if (this.#asked.length === 0) worker.unref()
      if (error === undefined) asked?.resolve(value)
      else asked?.reject(new Error(error))
    })
    worker.on('error', (error) => this.#ended(worker, error))
    worker.on('exit', () => this.#ended(worker, new Error('the thread for passwords ended')))
    return worker
  }

  #ended(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    for (const { reject } of this.#asked.splice(0)) reject(error)
  }
}

export const argon2Engine: PasswordEngine = new PasswordThread()
