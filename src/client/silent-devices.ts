import type { Platform } from '#client/platform'

/** A device that is gone is seen for about as long at most, unless there are very many of them. */
const everyMs = 60_000
/** Of all names in one address, each with the name of its field. */
const addressCharactersMax = 2_000
const fieldCharacters = '&deviceIdentifier='.length
const requestsPerRound = 10

/**
 * Asks from time to time after devices of which nothing would be heard if they were gone: who may not read `device` hears of
 * a removal by the services that go (contract 4), and these have none that he sees.
 */
export class SilentDevices {
  readonly #platform: Platform
  readonly #all: () => Iterable<string>
  readonly #look: (devices: readonly string[]) => Promise<void>
  /** Looked at since all were. */
  #seen = new Set<string>()
  #round: AbortController | undefined

  constructor(platform: Platform, all: () => Iterable<string>, look: (devices: readonly string[]) => Promise<void>) {
    this.#platform = platform
    this.#all = all
    this.#look = look
  }

  start(): void {
    if (this.#round) return
    this.#round = new AbortController()
    void this.#watch(this.#round.signal)
  }

  stop(): void {
    this.#round?.abort()
    this.#round = undefined
    this.#seen = new Set()
  }

  async #watch(round: AbortSignal): Promise<void> {
    while (!round.aborted) {
      await this.#platform.sleep(everyMs, round)
      for (let request = 0; request < requestsPerRound && !round.aborted; request++) {
        const devices = this.#next()
        if (devices.length === 0) break
        await this.#look(devices)
      }
    }
  }

  /** Those whose turn it is; none once all had theirs, and then from the beginning. */
  #next(): readonly string[] {
    const devices: string[] = []
    let characters = 0
    for (const device of this.#all()) {
      if (this.#seen.has(device)) continue
      characters += fieldCharacters + device.length
      if (characters > addressCharactersMax) return devices
      this.#seen.add(device)
      devices.push(device)
    }
    if (devices.length === 0) this.#seen = new Set()
    return devices
  }
}
