/** The page's only access to time and timers. Each timer returns a function that cancels it. */

/** Unix milliseconds by the local clock, which may differ from the server's. */
export function now(): number {
  return Date.now()
}

export function runAfter(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}

export function runEvery(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms)
  return () => clearInterval(timer)
}

/** Runs the work and returns its duration. */
export function measureMs(work: () => void): number {
  const began = performance.now()
  work()
  return performance.now() - began
}
