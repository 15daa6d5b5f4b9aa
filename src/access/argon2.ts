import { type ChildProcess, spawn } from 'node:child_process'
import type { PasswordEngine } from '#access/password-hashing'

/**
 * argon2id (RFC 9106) with what OWASP asks for at least: 12 MiB, three times over, one lane. Of its pairs of equal strength
 * the one that costs least here: 6 whole huge pages of Linux, 8 ms of a core. Written out, so that a library that changes
 * its mind does not change ours.
 */
const cost = { memoryCost: 12_288, timeCost: 3, parallelism: 1, outputLen: 32 }

/** How hashes of this cost begin. */
const currentPrefix = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$`

/**
 * What runs in the process. As text, because the module it would be is no file where the sources are run as they are. It
 * ends with the channel to us, and not by a signal that both of us get: requests under way are still answered then.
 *
 * Nice, but not idle (sched(7)): whom any other program on the machine keeps from its processors would sign in nobody. At 10
 * it has a tenth of one that somebody else wants as well.
 *
 * Files of the database that are open already when it begins are let go: LevelDB's are inherited, and what it deletes would
 * keep its place on the disk.
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
 * A process for passwords, below the others: somebody who signs in can wait, and events can't. With two cores a flood of
 * logins made half of all events take ten times as long otherwise. No thread: one that waits for a processor while it holds
 * a lock of the memory they share would hold up all others with it. Begun anew when it has died; it keeps us alive only while
 * it is asked.
 */
class PasswordProcess implements PasswordEngine {
  #child: ChildProcess | undefined
  /** In the order in which they are answered. */
  readonly #asked: Asked[] = []

  hash(password: string): Promise<string> {
    return this.#ask({ password }) as Promise<string>
  }

  verify(stored: string, password: string): Promise<boolean> {
    return this.#ask({ stored, password }) as Promise<boolean>
  }

  isCurrent(hash: string): boolean {
    return hash.startsWith(currentPrefix)
  }

  /** Best while there is little memory: a process that begins another stands still meanwhile. Else with the first password. */
  begin(): void {
    this.#child ??= this.#begun()
  }

  #ask(question: Question): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#child ??= this.#begun()
      this.#asked.push({ resolve, reject })
      this.#child.channel?.ref()
      this.#child.send(question, () => {})
    })
  }

  #begun(): ChildProcess {
    const line = [...process.execArgv, '--input-type=module', '--eval', program]
    const child = spawn(process.execPath, line, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    child.unref()
    child.channel?.unref()
    child.on('message', ({ value, error }: Answer) => {
      const asked = this.#asked.shift()
      if (this.#asked.length === 0) child.channel?.unref()
      if (error === undefined) asked?.resolve(value)
      else asked?.reject(new Error(error))
    })
    child.on('error', (error) => this.#ended(child, error))
    child.on('exit', () => this.#ended(child, new Error('the process for passwords ended')))
    return child
  }

  #ended(child: ChildProcess, error: Error): void {
    if (this.#child !== child) return
    this.#child = undefined
    for (const { reject } of this.#asked.splice(0)) reject(error)
  }
}

export const argon2Engine = new PasswordProcess()
