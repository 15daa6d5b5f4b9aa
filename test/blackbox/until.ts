/** Generous: a loaded machine is slow, and how fast the server is belongs to the benches. */
export const deadlineMs = 20_000
const lookEveryMs = 5
/**
 * Most answers are there after some turns of the loop: not one of hundreds of waits should take a whole timer. Who looks on
 * like that takes the processor from whom he waits for.
 */
const withoutPauseMs = 20

type Unfinished = undefined | null | false

/** Looks again and again until there is something to see; throws what it waited for when that takes too long. */
export async function until<T>(
  look: () => T | Unfinished | Promise<T | Unfinished>,
  what: string | (() => string),
  withinMs = deadlineMs,
): Promise<T> {
  const begin = performance.now()
  for (;;) {
    const seen = await look()
    if (seen !== undefined && seen !== null && seen !== false) return seen
    const waitedMs = performance.now() - begin
    if (waitedMs > withinMs) throw new Error(`waited in vain for ${typeof what === 'string' ? what : what()}`)
    await new Promise((resolve) => {
      if (waitedMs < withoutPauseMs) setImmediate(resolve)
      else setTimeout(resolve, lookEveryMs)
    })
  }
}
