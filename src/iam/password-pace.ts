/** From here on events wait for processors already, and passwords give way. */
const busyFrom = 1 / 3

/** A password that took the time of one takes that of ten. */
const restPerTaken = 9

/** The last of a full queue has its turn within five seconds all the same. */
const restMsMax = 150

/**
 * How long passwords rest after one, in milliseconds. Beside a loop that has time to spare not at all. Beside a busy one
 * they take a tenth of a processor: argon2 goes through 12 MiB three times over, and whoever shares caches and memory with
 * it feels that, however low its priority is.
 *
 * @param tookMs what the last one took, with what it waited for a processor
 * @param loopShare how busy the loop was lately, 0 to 1
 */
export function restMsAfter(tookMs: number, loopShare: number): number {
  return loopShare < busyFrom ? 0 : Math.min(tookMs * restPerTaken, restMsMax)
}
