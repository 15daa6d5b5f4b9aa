import { Problem } from '#client/problem'

const leastMs = 500
const mostMs = 30_000

/** A server that asks for more patience is not believed to mean it. */
const obeyedMsMax = 300_000

/** How long to wait before the how manyth attempt in a row, with full jitter: whoever failed together does not come together. */
export function pauseMs(attempt: number, random: () => number): number {
  return random() * Math.min(mostMs, leastMs * 2 ** (attempt - 1))
}

/** The same behind what failed; who said when to come back is not asked before. `Retry-After`, RFC 9110 §10.2.3 */
export function pauseAfter(failed: unknown, attempt: number, random: () => number): number {
  const askedMs = failed instanceof Problem ? (failed.retryAfterSeconds ?? 0) * 1000 : 0
  return Math.min(askedMs, obeyedMsMax) + pauseMs(attempt, random)
}
