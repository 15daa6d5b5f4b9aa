import type { Platform } from '#client/platform'

/** Who may hear of devices hears within this time that one is gone, and nothing has to be asked. */
const waitMs = 1_000

/**
 * Devices that may be gone: all that is heard of them has gone. That they are gone is told to who may read `device` alone
 * (contract 4); others ask, one after the other.
 */
export class Doubts {
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
    await this.#platform.sleep(waitMs, round)
    for (const device of this.#devices) {
      if (round.aborted) return
      this.#devices.delete(device)
      await this.#look([device])
    }
    if (!round.aborted) this.#round = undefined
  }
}
