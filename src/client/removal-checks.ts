import type { Platform } from '#client/platform'

/** Who may hear of devices hears within this time that one is gone, and nothing has to be asked. */
const removalEventWaitMs = 1_000

/**
 * Devices that may be gone: all that is heard of them has gone. That they are gone is told to who may read `device` alone
 * (contract 4); others ask, one after the other.
 */
export class RemovalChecks {
  readonly #platform: Platform
  readonly #look: (devices: readonly string[]) => Promise<void>
  readonly #devices = new Set<string>()
  #round: AbortController | undefined

  constructor(platform: Platform, look: (devices: readonly string[]) => Promise<void>) {
    this.#platform = platform
    this.#look = look
  }

  add(device: string): void {
    this.#devices.add(device)
    if (this.#round) return
    this.#round = new AbortController()
    void this.#lookAtAll(this.#round.signal)
  }

  clear(): void {
    this.#round?.abort()
    this.#round = undefined
    this.#devices.clear()
  }

  async #lookAtAll(round: AbortSignal): Promise<void> {
    await this.#platform.sleep(removalEventWaitMs, round)
    for (const device of this.#devices) {
      if (round.aborted) return
      this.#devices.delete(device)
      await this.#look([device])
    }
    if (!round.aborted) this.#round = undefined
  }
}

/** A device that is gone is seen for about as long at most, unless there are very many of them. */
const silentDevicesEveryMs = 60_000
/** They fit into an address, and are one page. */
const devicesPerRequest = 50
const devicesPerRound = 500

/**
 * Asks from time to time after devices of which nothing would be heard if they were gone: who may not read `device` hears of
 * a removal by the services that go (contract 4), and these have none that he sees. `all` names them, in an order that stays.
 */
export async function askAfterSilent(
  { sleep }: Platform,
  round: AbortSignal,
  all: () => readonly string[],
  look: (devices: readonly string[]) => Promise<void>,
): Promise<void> {
  let at = 0
  while (!round.aborted) {
    await sleep(silentDevicesEveryMs, round)
    const devices = all()
    const end = Math.min(devices.length, at + devicesPerRound)
    for (; at < end; at += devicesPerRequest) await look(devices.slice(at, at + devicesPerRequest))
    if (at >= devices.length) at = 0
  }
}
