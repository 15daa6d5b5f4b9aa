import { ByteAllowance } from '#access/byte-allowance'
import type { World } from '#runtime/world'

/** A user fills at most this part of a tenant's retained stream at once, and all of it in an hour. */
const atOncePart = 1 / 8
const wholeMs = 3_600_000
/** Of a stream that is kept very short: its clients expect to read the full state often. */
const bytesMin = 8 * 1024 * 1024

/**
 * What users may add to the event stream by changes whose events carry whole records (metadata, alarms, schemas). More
 * would push out what other clients still have to catch up with, and make each of them read the full state again.
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
