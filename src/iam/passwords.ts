import type { PasswordEngine } from '#iam/password-hashing'
import { Problem } from '#model/problem'

/** As many wait or are being hashed: the last of them for less than a second, beside a busy loop for less than five. */
const queueMax = 32

/** From here on events wait for processors already. */
const busyFrom = 1 / 3

/**
 * Between one and the next beside a busy loop: about ten a second are left, a tenth of a processor. However low the priority
 * of argon2 is, it goes through 12 MiB three times over, and whoever shares caches and memory with it feels that.
 */
const restMs = 100

/**
 * What a password is checked against where there is no account: nobody knows one that fits. It costs what a stored one
 * costs, so that how long an answer takes does not tell whether there was an account.
 */
export const dummyHash =
  '$argon2id$v=19$m=12288,t=3,p=1$Sm7+wJcFhxTUQM6UfzbDtA$yhKOCBOJuMn2Bi5ZKmOYYNn5KIfIieA/tQ6aFSKRPbU'

interface Job {
  run(): Promise<void>
}

/** What the pace hangs on: World. */
export interface Surroundings {
  after(delayMs: number, task: () => void): void
  loopShare(): number
}

/**
 * Passwords, one at a time: each takes a core for 10 to 20 ms and 12 MiB, and everything else this process does waits for the
 * same cores. Beside a busy loop they rest in between. Whoever finds the queue full is told to come again.
 * Contract 2, architecture: bounded queues.
 */
export class Passwords {
  readonly counts = { hashes: 0, refused: 0 }
  readonly #engine: PasswordEngine
  readonly #surroundings: Surroundings | undefined
  /** The first of them is at work, unless all rest. */
  readonly #jobs: Job[] = []
  #isResting = false

  /** Without surroundings there is no rest. */
  constructor(engine: PasswordEngine, surroundings?: Surroundings) {
    this.#engine = engine
    this.#surroundings = surroundings
  }

  /** Those that wait, and the one at work. */
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
    if (this.#jobs.length < queueMax) return
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
        this.#rest()
      }
      this.#jobs.push({ run })
      if (this.#jobs.length === 1 && !this.#isResting) void run()
    })
  }

  #rest(): void {
    const next = () => {
      this.#isResting = false
      void this.#jobs[0]?.run()
    }
    const around = this.#surroundings
    this.#isResting = around !== undefined && around.loopShare() >= busyFrom
    if (this.#isResting) around?.after(restMs, next)
    else next()
  }
}

/** The same letters, whichever way a keyboard puts them together. */
function normalOf(password: string): string {
  return password.normalize('NFC')
}
