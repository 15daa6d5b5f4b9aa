import type { SeededRandom } from '#bench/random'
import { SimulatedMailServer } from '#test/simulation/simulated-mail'
import { SimulatedReceivers } from '#test/simulation/simulated-receivers'
import type { SimulatedLimits } from '#test/simulation/simulated-server'
import { memoryBlobs } from '#test/store/memory-blobs'

export function randomLimits(random: SeededRandom, now: () => number): SimulatedLimits {
  const pick = <T>(from: readonly T[]) => from[random.below(from.length)] as T
  return {
    // Either small, so that redo delays retention, or large enough that no client has to read again.
    retainedBytesMax: pick([1_000, 3_000, 20_000]),
    // Either small, so that a few frames exceed it, or large enough for all.
    uncommittedBytesMax: pick([1_200, 4_000, 1_000_000]),
    // Sessions that expire during the run, or last throughout.
    tokenMs: pick([200_000, 3_600_000]),
    mails: {
      server: new SimulatedMailServer(random),
      receivers: new SimulatedReceivers(random),
      // Either small, so that most mails become digests, or large enough for single mails.
      perHourMax: pick([2, 5, 1_000]),
      // Either small, so that some requests are only counted, or large enough for all.
      storedRequestsMax: pick([6, 1_000]),
    },
    updates: {
      images: memoryBlobs({ bytesMax: 1_000, now }),
      options: pick([
        {},
        { underWayMax: 1 },
        { isHookForPinsOnly: true, autoUpdate: '*/2 * * * *' },
        { isConnectUpdateDisabled: true },
        { isConnectUpdateDisabled: true, isHookForPinsOnly: true, autoUpdate: '* * * * *' },
        { isConnectUpdateDisabled: true, autoUpdate: '* * * * *', underWayMax: 2 },
      ]),
    },
  }
}
