import { type ChildProcess, spawn } from 'node:child_process'
import type { PasswordEngine } from '#access/passwords'

/**
 * argon2id (RFC 9106) at the minimum that OWASP recommends. Of the recommended pairs of memory and passes, this one
 * takes the least time here (8 ms of a core): 12 MiB are six huge pages of Linux. All parameters are given, so that new
 * defaults of the library do not change them.
 */
const cost = { memoryCost: 12_288, timeCost: 3, parallelism: 1, outputLen: 32 }

/** The beginning of hashes with these parameters. */
const currentPrefix = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$`

/**
 * The program of the hashing process. It is a text, because there is no module file to load when the sources run
 * directly. It exits when its channel to the server closes. It ignores signals that the whole process group receives,
 * so that requests in progress are still answered.
 *
 * It runs at low priority, but not at idle priority (sched(7)), with which any busy program on the machine would stop
 * all sign-ins. At nice 10 the process gets a tenth of a contended processor.
 *
 * On Linux it closes all inherited descriptors of regular files. Otherwise files that LevelDB deletes would keep their
 * disk space.
 */
const program = `
  import { closeSync, fstatSync, readdirSync } from 'node:fs'
  import { createRequire } from 'node:module'
  import { constants, setPriority } from 'node:os'
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
  const inherited = process.platform === 'linux' ? readdirSync('/proc/self/fd').map(Number) : []
  for (const file of inherited) {
    try {
      if (file > 2 && fstatSync(file).isFile()) closeSync(file)
    } catch {}
  }
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {}
  process.once('disconnect', () => process.exit())
  process.channel.ref()
  const { hashSync, verifySync } = createRequire(${JSON.stringify(import.meta.url)})('@node-rs/argon2')
  process.on('message', ({ stored, password }) => {
    try {
      const value = stored === undefined ? hashSync(password, ${JSON.stringify(cost)}) : verifySync(stored, password)
      process.send({ value })
    } catch (error) {
      process.send({ error: error.message })
    }
  })
`

interface HashRequest {
  /** The hash to compare the password with. Absent: hash the password. */
  readonly stored?: string
  readonly password: string
}

interface Answer {
  readonly value?: unknown
  readonly error?: string
}

interface PendingHash {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/**
 * A process for passwords with lower priority than the server: a sign-in can wait, an event cannot. Without this
 * process, a flood of sign-ins on two cores made half of all events ten times slower. A thread would not do: if it
 * waits for a processor while it holds a lock on shared memory, it blocks all other threads. After the process has
 * died, the next password starts it again. The process keeps the server alive only while requests are pending.
 */
class PasswordProcess implements PasswordEngine {
  #child: ChildProcess | undefined
  /** The pending requests, in the order in which the process answers them. */
  readonly #pending: PendingHash[] = []

  hash(password: string): Promise<string> {
    return this.#ask({ password }) as Promise<string>
  }

  verify(stored: string, password: string): Promise<boolean> {
    return this.#ask({ stored, password }) as Promise<boolean>
  }

  isCurrent(hash: string): boolean {
    return hash.startsWith(currentPrefix)
  }

  /**
   * Starts the process. Best called while the server uses little memory, because the start blocks the server. Without
   * this call, the first password starts the process.
   */
  begin(): void {
    this.#child ??= this.#spawn()
  }

  #ask(question: HashRequest): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#child ??= this.#spawn()
      this.#pending.push({ resolve, reject })
      this.#child.channel?.ref()
      this.#child.send(question, () => {})
    })
  }

  #spawn(): ChildProcess {
    const line = [...process.execArgv, '--input-type=module', '--eval', program]
    const child = spawn(process.execPath, line, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    child.unref()
    child.channel?.unref()
    child.on('message', ({ value, error }: Answer) => {
      const request = this.#pending.shift()
      if (this.#pending.length === 0) child.channel?.unref()
      if (error === undefined) request?.resolve(value)
      else request?.reject(new Error(error))
    })
    child.on('error', (error) => this.#ended(child, error))
    child.on('exit', () => this.#ended(child, new Error('the password process ended')))
    return child
  }

  #ended(child: ChildProcess, error: Error): void {
    if (this.#child !== child) return
    this.#child = undefined
    for (const { reject } of this.#pending.splice(0)) reject(error)
  }
}

export const argon2Engine = new PasswordProcess()
