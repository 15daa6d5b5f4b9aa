/** The page's one door to time and timers. Each answers how to take back what was asked for. */

/** Unix milliseconds by this machine's clock, which may differ from the server's. */
export function now(): number {
  return Date.now()
}

export function after(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}

export function every(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms)
  return () => clearInterval(timer)
}

/** Milliseconds that some work took. */
export function timed(work: () => void): number {
  const began = performance.now()
  work()
  return performance.now() - began
}
