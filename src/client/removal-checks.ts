import type { Platform } from '#client/platform'

/** If the caller may receive DEVICE_DELETE, it arrives within this time, and no request is needed. */
const removalEventWaitMs = 1_000

/**
 * After events that only removed properties, checks whether the devices were deleted. Only callers with `read` on
 * `device` receive DEVICE_DELETE (contract 4), so the others have to ask.
 */
export class RemovalChecks {
  readonly #platform: Platform
  readonly #check: (devices: readonly string[]) => Promise<void>
  readonly #devices = new Set<string>()
  #round: AbortController | undefined

  constructor(platform: Platform, check: (devices: readonly string[]) => Promise<void>) {
    this.#platform = platform
    this.#check = check
  }

  add(device: string): void {
    this.#devices.add(device)
    if (this.#round) return
    this.#round = new AbortController()
    void this.#checkAll(this.#round.signal)
  }

  clear(): void {
    this.#round?.abort()
    this.#round = undefined
    this.#devices.clear()
  }

  async #checkAll(round: AbortSignal): Promise<void> {
    await this.#platform.sleep(removalEventWaitMs, round)
    while (this.#devices.size > 0 && !round.aborted) {
      const devices = [...this.#devices]
      this.#devices.clear()
      await this.#check(devices)
    }
    if (!round.aborted) this.#round = undefined
  }
}

/**
 * A deleted device without services stays visible for about this long, or longer with over `devicesPerRound` of them.
 */
const silentDevicesEveryMs = 60_000
const devicesPerRound = 500

/**
 * Checks periodically whether devices without visible services were deleted. A caller without `read` on `device`
 * otherwise learns of a deletion only from the services that are removed (contract 4). `all` returns the devices to
 * check in a stable order.
 */
export async function checkSilentDevices(
  { sleep }: Platform,
  round: AbortSignal,
  all: () => readonly string[],
  check: (devices: readonly string[]) => Promise<void>,
): Promise<void> {
  let at = 0
  while (!round.aborted) {
    await sleep(silentDevicesEveryMs, round)
    const devices = all()
    await check(devices.slice(at, at + devicesPerRound))
    at += devicesPerRound
    if (at >= devices.length) at = 0
  }
}
