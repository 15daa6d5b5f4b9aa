import type { Platform } from '#client/platform'

/** If the caller may receive DEVICE_DELETE, it arrives within this time, and no request is needed. */
const removalEventWaitMs = 1_000

/**
 * A deleted device without services stays visible for about this long, or longer with over `devicesPerRound` of them.
 */
const silentDevicesEveryMs = 60_000
const devicesPerRound = 500

/**
 * Checks whether devices were deleted. Only callers with `read` on `device` receive DEVICE_DELETE (contract 4), so the
 * others have to ask: after events that only removed properties (`add`), and periodically for devices without visible
 * services (`watchSilent`). `silentDevices` returns these in a stable order.
 */
export function removalChecks(
  { sleep }: Platform,
  check: (devices: readonly string[]) => Promise<void>,
  silentDevices: () => readonly string[],
) {
  const added = new Set<string>()
  let running = new AbortController()
  let isChecking = false
  let isWatching = false
  const checkAdded = async ({ signal }: AbortController) => {
    await sleep(removalEventWaitMs, signal)
    while (added.size > 0 && !signal.aborted) {
      const devices = [...added]
      added.clear()
      await check(devices)
    }
    if (!signal.aborted) isChecking = false
  }
  return {
    add(device: string): void {
      added.add(device)
      if (isChecking) return
      isChecking = true
      void checkAdded(running)
    },
    async watchSilent(): Promise<void> {
      if (isWatching) return
      isWatching = true
      const { signal } = running
      let at = 0
      while (!signal.aborted) {
        await sleep(silentDevicesEveryMs, signal)
        const devices = silentDevices()
        await check(devices.slice(at, at + devicesPerRound))
        at += devicesPerRound
        if (at >= devices.length) at = 0
      }
    },
    stop(): void {
      running.abort()
      running = new AbortController()
      added.clear()
      isChecking = false
      isWatching = false
    },
  }
}
