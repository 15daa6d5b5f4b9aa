export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Unix milliseconds with fractions. */
export function unixMs(): number {
  return performance.timeOrigin + performance.now()
}

/** Whether the promise was kept, and not rejected. */
export function isFulfilled(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  )
}

/** Waits until `isTrue` returns true. Returns false if that took too long. */
export async function until(
  isTrue: () => boolean | Promise<boolean>,
  timeoutMs: number,
  pollMs = 10,
): Promise<boolean> {
  for (const end = performance.now() + timeoutMs; !(await isTrue()); await sleep(pollMs))
    if (performance.now() > end) return false
  return true
}
