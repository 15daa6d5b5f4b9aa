import type { World } from '#runtime/world'

interface Timer {
  readonly at: number
  readonly order: number
  readonly task: () => void
}

/** The time at which every clock of these tests begins. */
export const startMs = 1_700_000_000_000

/**
 * A world that a test moves: tasks passed to `soon` wait until they are run, only `advance` moves time, and random bytes
 * come from a seed. `spend` lets a task take time, as a busy loop would.
 */
export class ManualWorld implements World {
  #now: number
  #monotonic = 1_000
  #order = 0
  #timers: Timer[] = []
  #soon: (() => void)[] = []
  #chance: number
  readonly #isOutsideAwaited: boolean
  busyShare = 0

  /** `isOutsideAwaited`: a timer may start work outside of this world, so the event loop turns after each timer. */
  constructor(options: { readonly now?: number; readonly seed?: number; readonly isOutsideAwaited?: boolean } = {}) {
    this.#now = options.now ?? startMs
    this.#isOutsideAwaited = options.isOutsideAwaited ?? false
    this.#chance = (options.seed ?? 1) >>> 0
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#monotonic
  }

  soon(task: () => void): void {
    this.#soon.push(task)
  }

  asInput(task: () => void): void {
    this.soon(task)
  }

  after(delayMs: number, task: () => void): () => void {
    // As in Node: a delay that is too long becomes 1 ms.
    const wait = delayMs > 2 ** 31 - 1 ? 1 : delayMs
    const timer = { at: this.#monotonic + wait, order: this.#order++, task }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  loopShare(): number {
    return this.busyShare
  }

  random(byteCount: number): Uint8Array {
    return Uint8Array.from({ length: byteCount }, () => {
      this.#chance = (Math.imul(this.#chance, 1_664_525) + 1_013_904_223) >>> 0
      return this.#chance >>> 24
    })
  }

  get soonCount(): number {
    return this.#soon.length
  }

  get timerCount(): number {
    return this.#timers.length
  }

  /** Milliseconds until the next timer; undefined when none waits. */
  get nextTimerMs(): number | undefined {
    const next = this.#nextTimer()
    return next && next.at - this.#monotonic
  }

  /** Runs the oldest task of the queue; false when there is none. */
  step(): boolean {
    const task = this.#soon.shift()
    task?.()
    return task !== undefined
  }

  /** Lets time pass without running the queue, as a long task does. */
  spend(ms: number): void {
    this.#now += ms
    this.#monotonic += ms
  }

  /** Runs the queue, and everything it leads to, promises included, until nothing is left. Time stands still. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 3; quiet++) {
      while (this.step()) quiet = 0
      await promises()
    }
  }

  /** Moves time, runs each timer when it is due, and settles after it. */
  async advance(ms: number): Promise<void> {
    const until = this.#monotonic + ms
    await this.settle()
    for (let next = this.#nextTimer(); next && next.at <= until; next = this.#nextTimer()) {
      this.spend(Math.max(next.at - this.#monotonic, 0))
      this.#timers = this.#timers.filter((other) => other !== next)
      next.task()
      // Most timers find nothing to do: for those the event loop need not turn.
      if (this.#isOutsideAwaited || (await this.#hasLedToTasks())) await this.settle()
    }
    this.spend(Math.max(until - this.#monotonic, 0))
  }

  /** Runs the timers that are due now, but no task that they queue. */
  fire(): void {
    const due = this.#timers.filter(({ at }) => at <= this.#monotonic)
    for (const timer of due) {
      this.#timers = this.#timers.filter((other) => other !== timer)
      timer.task()
    }
  }

  /** The process dies: no waiting task or timer ever runs. */
  kill(): void {
    this.#timers = []
    this.#soon = []
  }

  /** Whether the queue has tasks, now or after fulfilled promises have run their callbacks. */
  async #hasLedToTasks(): Promise<boolean> {
    if (this.#soon.length === 0) await new Promise<void>((resolve) => process.nextTick(resolve))
    return this.#soon.length > 0
  }

  #nextTimer(): Timer | undefined {
    return this.#timers.reduce<Timer | undefined>(
      (first, timer) =>
        !first || timer.at < first.at || (timer.at === first.at && timer.order < first.order) ? timer : first,
      undefined,
    )
  }
}

/** Lets fulfilled promises run their callbacks. */
function promises(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
