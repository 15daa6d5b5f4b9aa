import { ByteAllowance } from '#access/byte-allowance'
import type { World } from '#runtime/world'

/** A user may fill this part of a tenant's retained stream at once, and all of it in an hour. */
const atOncePart = 1 / 8
const wholeMs = 3_600_000
/** The minimum, even for a shorter stream, whose clients have to read the full state often anyway. */
const bytesMin = 8 * 1024 * 1024

/**
 * Limits what users add to the event stream by changes whose events contain whole records (metadata, alarms, schemas).
 * More would evict events that other clients still need, so that each of them would have to read the full state again.
 */
export function streamShareOf(world: World, retainedBytesMax: number): ByteAllowance {
  const bytesMax = Math.max(bytesMin, retainedBytesMax * atOncePart)
  return new ByteAllowance({
    now: () => world.monotonic(),
    of: 'events',
    bytesMax,
    perMs: wholeMs * atOncePart,
  })
}
