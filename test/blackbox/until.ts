/** The limit is generous, because a loaded machine is slow. Benchmarks measure the speed of the server. */
export const deadlineMs = 20_000
const pollEveryMs = 5
/**
 * Most answers arrive after some turns of the event loop, so that most waits need no timer. After this time, polling
 * without a pause would take the processor from the server.
 */
const withoutPauseMs = 20

type Unfinished = undefined | null | false

/** Polls until `poll` returns a value. Throws with `what` after the deadline. */
export async function until<T>(
  poll: () => T | Unfinished | Promise<T | Unfinished>,
  what: string | (() => string),
  withinMs = deadlineMs,
): Promise<T> {
  const begin = performance.now()
  for (;;) {
    const seen = await poll()
    if (seen !== undefined && seen !== null && seen !== false) return seen
    const waitedMs = performance.now() - begin
    if (waitedMs > withinMs) throw new Error(`timed out waiting for ${typeof what === 'string' ? what : what()}`)
    await new Promise((resolve) => {
      if (waitedMs < withoutPauseMs) setImmediate(resolve)
      else setTimeout(resolve, pollEveryMs)
    })
  }
}
