/** Time that passes only in `sleep`, which returns at once. It records the waits of a client. */
export class VirtualTime {
  readonly waits: number[] = []
  /** The shortest wait. For example, browsers run the timers of hidden pages once a minute. */
  leastMs = 0
  #at = 1_790_000_000_000
  readonly #began = this.#at

  get passedMs(): number {
    return this.#at - this.#began
  }

  readonly now = (): number => this.#at

  readonly sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve))
    if (signal?.aborted) return
    this.waits.push(ms)
    this.#at += Math.max(ms, this.leastMs)
  }
}
