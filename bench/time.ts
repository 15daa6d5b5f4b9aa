export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** With fractions. */
export function unixMs(): number {
  return performance.timeOrigin + performance.now()
}

/** Whether it became true in time. */
export async function until(
  isTrue: () => boolean | Promise<boolean>,
  timeoutMs: number,
  pollMs = 10,
): Promise<boolean> {
  for (const end = performance.now() + timeoutMs; !(await isTrue()); await sleep(pollMs))
    if (performance.now() > end) return false
  return true
}
