/** Time that passes only where somebody waits: it is so much later at once. What a client waited for is kept. */
export class WaitedTime {
  readonly waits: number[] = []
  /** Browsers wake a page that is not seen once a minute. */
  leastMs = 0
  #at = 1_790_000_000_000
  readonly #began = this.#at

  /** Since it began. */
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
