/**
 * Unsent bytes of one socket above which it is sent no more until they have drained. The kernel's own buffer of some
 * megabytes is filled before, so this decides little about speed.
 */
const highWaterBytesMax = 128 * 1024
/** Less would be a few events, and sockets would fall behind at every burst. */
const highWaterBytesMin = 16 * 1024
/** A live socket with this many times the high water in its buffer falls behind. */
export const slowHighWaters = 4
/** Of up to 4 000 stalled sockets of all users; beyond that each may keep the least. */
const stalledBytesMax = 256 * 1024 * 1024

/** The more sockets there are, the less each may keep: one user with a thousand stalled sockets costs no more memory. */
export function highWaterBytesOf(socketCount: number): number {
  const shareBytes = Math.floor(stalledBytesMax / slowHighWaters / Math.max(socketCount, 1))
  return Math.max(highWaterBytesMin, Math.min(highWaterBytesMax, shareBytes))
}
