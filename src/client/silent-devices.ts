import type { Platform } from '#client/platform'

/** A device that is gone is seen for about as long at most, unless there are very many of them. */
const everyMs = 60_000
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
    await sleep(everyMs, round)
    const devices = all()
    const end = Math.min(devices.length, at + devicesPerRound)
    for (; at < end; at += devicesPerRequest) await look(devices.slice(at, at + devicesPerRequest))
    if (at >= devices.length) at = 0
  }
}
