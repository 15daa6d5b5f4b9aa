import type { SeededRandom } from '#bench/random'
import { SimulatedMailServer } from '#test/simulation/simulated-mail'
import type { SimulatedLimits } from '#test/simulation/simulated-server'
import { memoryBlobs } from '#test/store/memory-blobs'

/** Limits and options of one run. */
export function someLimits(random: SeededRandom, now: () => number): SimulatedLimits {
  const pick = <T>(from: readonly T[]) => from[random.below(from.length)] as T
  return {
    // Little enough that redo holds retention back, or enough that nobody has to read anew.
    retainedBytesMax: pick([1_000, 3_000, 20_000]),
    // Little enough that a few frames are too many, or enough for all.
    uncommittedBytesMax: pick([1_200, 4_000, 1_000_000]),
    // Sessions that end by themselves in between, or hold throughout.
    tokenMs: pick([200_000, 3_600_000]),
    mails: {
      server: new SimulatedMailServer(random),
      // So few that most are told together, or enough for each.
      perHourMax: pick([2, 5, 1_000]),
      // So few that some of a flood are only counted, or enough for all.
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
