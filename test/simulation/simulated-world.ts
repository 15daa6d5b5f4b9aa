import { SeededRandom } from '#bench/random'
import type { World } from '#runtime/world'

interface Timer {
  readonly at: number
  readonly task: () => void
}

/** Attempts before an answer is considered missing. */
const roundsMax = 4_000

/**
 * Time, randomness and deferred calls from a seed. Nothing happens by itself: the run decides when a task runs and when time
 * advances. Each simulated process has its own view; when it dies, its tasks and timers are dropped.
 */
export class SimulatedWorld {
  readonly random: SeededRandom
  #now = 1_790_000_000_000
  #monotonic = 0
  #soon: (() => void)[] = []
  /** In the order of their due times. */
  readonly #timers: Timer[] = []

  constructor(seed: number) {
    this.random = new SeededRandom(seed)
  }

  get isIdle(): boolean {
    return this.#soon.length === 0
  }

  now(): number {
    return this.#now
  }

  process(): { readonly world: World; kill(): void } {
    let isAlive = true
    const guarded = (task: () => void) => () => {
      if (isAlive) task()
    }
    const soon = (task: () => void) => {
      if (isAlive) this.#soon.push(guarded(task))
    }
    const world: World = {
      now: () => this.#now,
      // Now and then work takes long, so that slices end.
      monotonic: () => {
        this.#monotonic += this.random.next() < 0.05 ? this.random.between(0, 3) : 0.001
        return this.#monotonic
      },
      soon,
      asInput: soon,
      after: (delayMs, task) => {
        if (!isAlive) return () => {}
        const timer = { at: this.#monotonic + Math.max(0, delayMs), task: guarded(task) }
        this.#put(timer)
        return () => this.#drop(timer)
      },
      loopShare: () => 0,
      random: (byteCount) => Uint8Array.from({ length: byteCount }, () => this.random.below(256)),
    }
    return {
      world,
      kill: () => {
        isAlive = false
      },
    }
  }

  /** Runs the oldest waiting task and its microtasks. */
  async step(): Promise<void> {
    this.#soon.shift()?.()
    await settle()
  }

  /** Advances time; timers run in their order. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms
    const nowAtEnd = this.#now + ms
    for (;;) {
      const due = this.#takeDue(end)
      if (!due) break
      if (due.at > this.#monotonic) {
        this.#now += due.at - this.#monotonic
        this.#monotonic = due.at
      }
      due.task()
      await settle()
      while (!this.isIdle) await this.step()
    }
    this.#monotonic = Math.max(this.#monotonic, end)
    this.#now = Math.max(Math.floor(this.#now), Math.floor(nowAtEnd))
  }

  /**
   * Waits for a promise that needs tasks to run. Without tasks, time advances by `idleMs`. `passed` is called after each
   * step and each advance.
   */
  async pumped<T>(promise: Promise<T>, idleMs = 1, passed = () => {}): Promise<T> {
    let isDone = false
    const done = promise.finally(() => {
      isDone = true
    })
    done.catch(() => {})
    for (let round = 0; round < roundsMax && !isDone; round++) {
      await this.step()
      passed()
      if (!this.isIdle) continue
      await this.advance(idleMs)
      passed()
    }
    if (!isDone) throw new Error('an answer does not come')
    return done
  }

  /** The machine is suspended for a time: overdue timers run at its wake-up. */
  async leap(ms: number): Promise<void> {
    this.#monotonic += ms
    this.#now += ms
    await this.advance(0)
  }

  /** Inserts after those due at the same time. */
  #put(timer: Timer): void {
    let place = this.#timers.length
    while (place > 0 && (this.#timers[place - 1] as Timer).at > timer.at) place--
    this.#timers.splice(place, 0, timer)
  }

  /** The first timer, if it is due by then. */
  #takeDue(end: number): Timer | undefined {
    const first = this.#timers[0]
    return first && first.at <= end ? this.#timers.shift() : undefined
  }

  #drop(timer: Timer): void {
    const place = this.#timers.indexOf(timer)
    if (place >= 0) this.#timers.splice(place, 1)
  }
}

/**
 * Runs all pending promise jobs: `nextTick` callbacks run after them, and cost a tenth of an event loop cycle. The
 * simulation never waits for anything outside this process.
 */
export function settle(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}
