const leastMs = 500
const mostMs = 30_000

/** How long to wait before the how manyth attempt in a row, with full jitter: whoever failed together does not come together. */
export function pauseMs(attempt: number, random: () => number): number {
  return random() * Math.min(mostMs, leastMs * 2 ** (attempt - 1))
}
