import { addressGroupOf } from '#access/address-group'
import { FairQueue } from '#access/fair-queue'
import type { PasswordEngine } from '#access/password-hashing'
import { Problem } from '#model/problem'

/** As many wait, besides the one at work. */
const waitingMax = 32

/** From here on events wait for processors already. */
const busyFrom = 1 / 3

/**
 * For each hash, beside a busy loop: about ten a second are left, a tenth of a processor. However low the priority of argon2
 * is, it goes through 12 MiB three times over, and whoever shares caches and memory with it feels that.
 */
const restMs = 100

/** From so many on the rests are shorter: who waits waits for the others' too. */
const fewWaiting = 4

/**
 * What a password is checked against where there is no account: nobody knows one that fits. It costs what a stored one
 * costs, so that how long an answer takes does not tell whether there was an account.
 */
export const dummyHash =
  '$argon2id$v=19$m=12288,t=3,p=1$Sm7+wJcFhxTUQM6UfzbDtA$yhKOCBOJuMn2Bi5ZKmOYYNn5KIfIieA/tQ6aFSKRPbU'

/** Who waits for it. */
export interface Asking {
  /** His address: all of its network take turns with others as one. */
  readonly address: string
  /** Aborts when nobody waits for the answer any more: then it is left out. */
  readonly signal?: AbortSignal | undefined
}

/** Who somebody may be. */
export interface Candidate {
  /** Undefined: there is none, which takes as long to find out, and is never right. */
  readonly hash: string | undefined
}

interface Job {
  /** Answers for how many hashes it was. Never rejects. */
  run(): Promise<number>
  refuse(problem: Problem): void
}

/** What the pace hangs on: World. */
export interface Surroundings {
  after(delayMs: number, task: () => void): void
  loopShare(): number
}

/**
 * Passwords, one at a time: each takes a core for 10 to 20 ms and 12 MiB, and everything else this process does waits for the
 * same cores. Beside a busy loop they rest in between. Addresses take turns, so that one that asks for many holds up nobody
 * else; whoever finds no room is told to come again. Contract 2, architecture: bounded queues.
 */
export class Passwords {
  readonly counts = { hashes: 0, refused: 0 }
  readonly #engine: PasswordEngine
  readonly #surroundings: Surroundings | undefined
  readonly #waiting = new FairQueue<Job>(waitingMax)
  #isAtWork = false
  #isResting = false

  /** Without surroundings there is no rest. */
  constructor(engine: PasswordEngine, surroundings?: Surroundings) {
    this.#engine = engine
    this.#surroundings = surroundings
  }

  /** Those that wait, and the one at work. */
  get waitingCount(): number {
    return this.#waiting.size + (this.#isAtWork ? 1 : 0)
  }

  /** Whether a hash costs what they cost now. */
  isCurrent(hash: string): boolean {
    return this.#engine.isCurrent(hash)
  }

  /** @throws Problem `overloaded` when too many wait. */
  hash(password: string, asking: Asking): Promise<string> {
    return this.#enqueue(asking, async () => this.#hashed(password))
  }

  /**
   * Whose password it is, of all whom it may be, in one turn. `candidates` is asked when the turn has come, and may refuse by
   * throwing: others of the same account may have failed meanwhile. `judge` runs before the next turn, so that what it
   * counts holds for that one.
   *
   * @throws Problem `overloaded` when too many wait, or nobody any more for this; what `candidates` throws.
   */
  verify<C extends Candidate, T>(
    candidates: () => readonly C[],
    password: string,
    asking: Asking,
    judge: (right: readonly C[], wrong: readonly C[]) => T,
  ): Promise<T> {
    return this.#enqueue(asking, async () => {
      const right: C[] = []
      const wrong: C[] = []
      for (const candidate of candidates()) {
        const isRight = await this.#verified(candidate.hash, password)
        if (isRight) right.push(candidate)
        else wrong.push(candidate)
      }
      return judge(right, wrong)
    })
  }

  /**
   * For who would do other work first that is worth nothing without a password.
   * @throws Problem `overloaded` when too many wait.
   */
  checkRoom(address: string): void {
    if (!this.#waiting.hasRoom(addressGroupOf(address))) throw this.#tooMany()
  }

  #hashed(password: string): Promise<string> {
    this.counts.hashes++
    return this.#engine.hash(normalOf(password))
  }

  async #verified(hash: string | undefined, password: string): Promise<boolean> {
    this.counts.hashes++
    return (await this.#engine.verify(hash ?? dummyHash, normalOf(password))) && hash !== undefined
  }

  async #enqueue<T>({ address, signal }: Asking, work: () => Promise<T>): Promise<T> {
    if (signal?.aborted) throw notWanted()
    this.checkRoom(address)
    const group = addressGroupOf(address)
    return new Promise<T>((resolve, reject) => {
      const job: Job = {
        run: async () => {
          const before = this.counts.hashes
          await work().then(resolve, reject)
          return this.counts.hashes - before
        },
        refuse: reject,
      }
      this.#waiting.add(group, job)?.refuse(this.#tooMany())
      const leave = () => {
        if (this.#waiting.remove(group, job)) reject(notWanted())
      }
      signal?.addEventListener('abort', leave, { once: true })
      if (!this.#isAtWork && !this.#isResting) void this.#work()
    })
  }

  async #work(): Promise<void> {
    const job = this.#waiting.take()
    if (!job) return
    this.#isAtWork = true
    const hashes = await job.run()
    this.#isAtWork = false
    const around = this.#surroundings
    this.#isResting = hashes > 0 && around !== undefined && around.loopShare() >= busyFrom
    if (this.#isResting) around?.after(this.#restMs(hashes), () => this.#goOn())
    else this.#goOn()
  }

  #goOn(): void {
    this.#isResting = false
    void this.#work()
  }

  #restMs(hashes: number): number {
    return Math.round((hashes * restMs * fewWaiting) / Math.max(this.#waiting.size, fewWaiting))
  }

  #tooMany(): Problem {
    this.counts.refused++
    return new Problem('overloaded', 'too many passwords wait to be checked', { headers: { 'Retry-After': '1' } })
  }
}

/** Nobody hears it. */
function notWanted(): Problem {
  return new Problem('overloaded', 'nobody waits for this password any more')
}

/** The same letters, whichever way a keyboard puts them together. */
function normalOf(password: string): string {
  return password.normalize('NFC')
}
