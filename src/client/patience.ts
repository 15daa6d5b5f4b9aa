import { ConnectionLost } from '#client/problem'

interface Clock {
  now(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Gives up when nothing was heard for so long, or when somebody else does. */
export class Patience {
  readonly #clock: Clock
  readonly #silenceMs: number
  readonly #controller = new AbortController()
  readonly #ended = new AbortController()
  readonly #outer: AbortSignal | undefined
  #heardAt: number

  /** @param silenceMs Infinity: never */
  constructor(clock: Clock, silenceMs: number, outer?: AbortSignal) {
    this.#clock = clock
    this.#silenceMs = silenceMs
    this.#outer = outer
    this.#heardAt = clock.now()
    if (outer?.aborted) this.#follow()
    else outer?.addEventListener('abort', this.#follow)
    if (silenceMs !== Number.POSITIVE_INFINITY) void this.#watch()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  heard(): void {
    this.#heardAt = this.#clock.now()
  }

  /** It is over, one way or another. */
  end(): void {
    this.#ended.abort()
    this.#outer?.removeEventListener('abort', this.#follow)
  }

  readonly #follow = (): void => this.#controller.abort(this.#outer?.reason)

  async #watch(): Promise<void> {
    const { signal } = this.#ended
    while (!signal.aborted) {
      const leftMs = this.#heardAt + this.#silenceMs - this.#clock.now()
      if (leftMs <= 0) return this.#controller.abort(new ConnectionLost(`nothing came for ${this.#silenceMs / 1000} s`))
      await this.#clock.sleep(leftMs, signal)
    }
  }
}
