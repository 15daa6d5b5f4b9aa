/** The page's only access to time and timers. `runAfter` and `runEvery` return a function that cancels the timer. */

/** Unix milliseconds by the local clock, which may differ from the server's. */
export function now(): number {
  return Date.now()
}

export function runAfter(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    runAfter(ms, resolve)
  })
}

export function runEvery(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms)
  return () => clearInterval(timer)
}

export interface Delayed {
  /** Runs the work after the delay. Does nothing if a run is already scheduled. */
  start(ms?: number): void
  cancel(): void
}

/** Combines many starts into one run, which follows `delayMs`, or the `ms` of the first start, after it. */
export function delayed(delayMs: number, run: () => void): Delayed {
  let cancel: (() => void) | undefined
  return {
    start(ms = delayMs) {
      cancel ??= runAfter(ms, () => {
        cancel = undefined
        run()
      })
    },
    cancel() {
      cancel?.()
      cancel = undefined
    },
  }
}
