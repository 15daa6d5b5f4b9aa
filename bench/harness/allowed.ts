/** How much longer an event's way, or an acknowledgement, may take while something else goes on. */
const longerMsMax = 10

/** What a p99 may come to beside something else, by what it is without: twice as much, or 10 ms more. */
export function allowedMs(msWithout: number): number {
  return Math.max(2 * msWithout, msWithout + longerMsMax)
}
