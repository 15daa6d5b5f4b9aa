import { problemText, statusOf } from '#dashboard/components/problem-text'
import { pause } from '#dashboard/timers'

export interface Outcome {
  readonly device: string
  /** The reason of the failure; undefined: the change is done. */
  readonly fault?: string | undefined
}

/** Acts on these devices, and reports each outcome. Rejects with an error that applies to all remaining devices. */
export type Work = (
  devices: readonly string[],
  report: (outcomes: readonly Outcome[]) => void,
  signal: AbortSignal,
) => Promise<void>

/** Browsers open six connections to a server; the page needs some for other requests. */
const requestsAtOnce = 4
const repeatsMax = 5

/** One request for each device, a few at once. `act` resolves with the reason of a failure, or throws it. */
export function forEachDevice(act: (device: string) => Promise<string | undefined>): Work {
  return async (devices, report, signal) => {
    const waiting = devices.values()
    const actOnWaiting = async () => {
      for (const device of waiting) {
        if (signal.aborted) return
        report([{ device, fault: await retryRefused(() => act(device)).catch(problemText) }])
      }
    }
    await Promise.all(Array.from({ length: requestsAtOnce }, actOnWaiting))
  }
}

/** Repeats a call that is refused because of too many requests, an overload, or another change at the same time. */
export async function retryRefused<Value>(act: () => Promise<Value>, repeats = repeatsMax): Promise<Value> {
  try {
    return await act()
  } catch (problem) {
    if (![412, 429, 503].includes(statusOf(problem) ?? 0) || repeats === 0) throw problem
    await pause(((problem as { retryAfterSeconds?: number }).retryAfterSeconds ?? 1) * 1_000)
    return retryRefused(act, repeats - 1)
  }
}
