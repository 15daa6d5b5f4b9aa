import type { PasswordEngine } from '#iam/password-hashing'
import { Problem } from '#model/problem'

/** As many wait or are being hashed; at 20 ms each, the last of them waits for less than a second. */
const queueMaxByDefault = 32

/**
 * What a password is checked against where there is no account: nobody knows one that fits. It costs what a stored one
 * costs, so that how long an answer takes does not tell whether there was an account.
 */
export const dummyHash =
  '$argon2id$v=19$m=12288,t=3,p=1$Sm7+wJcFhxTUQM6UfzbDtA$yhKOCBOJuMn2Bi5ZKmOYYNn5KIfIieA/tQ6aFSKRPbU'

interface Job {
  run(): Promise<void>
}

/**
 * Passwords, one at a time: each takes a core for 10 to 20 ms and 12 MiB, and everything else this process does waits for the
 * same cores. Whoever finds the queue full is told to come again. Contract 2, architecture: bounded queues.
 */
export class Passwords {
  readonly counts = { hashes: 0, refused: 0 }
  readonly #engine: PasswordEngine
  readonly #queueMax: number
  /** The first of them is at work. */
  readonly #jobs: Job[] = []

  constructor(engine: PasswordEngine, queueMax = queueMaxByDefault) {
    this.#engine = engine
    this.#queueMax = queueMax
  }

  /** The one that is at work included. */
  get waitingCount(): number {
    return this.#jobs.length
  }

  /** @throws Problem `overloaded` when too many wait. */
  hash(password: string): Promise<string> {
    return this.#enqueue(async () => this.#engine.hash(normalOf(password)))
  }

  /**
   * Whether it is the password. `hash` undefined: there is none, which takes as long to find out, and is never so.
   * `before` runs when its turn has come and may refuse by throwing: others of the same account may have failed
   * meanwhile. `wrong` runs before the next one's turn comes, so that it counts for that one.
   *
   * @throws Problem `overloaded` when too many wait; what `before` throws.
   */
  verify(hash: string | undefined, password: string, before?: () => void, wrong?: () => void): Promise<boolean> {
    return this.#enqueue(async () => {
      before?.()
      const isRight = (await this.#engine.verify(hash ?? dummyHash, normalOf(password))) && hash !== undefined
      if (!isRight) wrong?.()
      return isRight
    })
  }

  /**
   * For who would do other work first that is worth nothing without a password.
   * @throws Problem `overloaded` when too many wait.
   */
  checkRoom(): void {
    if (this.#jobs.length < this.#queueMax) return
    this.counts.refused++
    throw new Problem('overloaded', 'too many passwords wait to be checked', { headers: { 'Retry-After': '1' } })
  }

  async #enqueue<T>(work: () => Promise<T>): Promise<T> {
    this.checkRoom()
    return new Promise<T>((resolve, reject) => {
      const run = async () => {
        this.counts.hashes++
        await work().then(resolve, reject)
        this.#jobs.shift()
        void this.#jobs[0]?.run()
      }
      this.#jobs.push({ run })
      if (this.#jobs.length === 1) void run()
    })
  }
}

/** The same letters, whichever way a keyboard puts them together. */
function normalOf(password: string): string {
  return password.normalize('NFC')
}
