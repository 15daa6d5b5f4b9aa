import { randomBytes } from 'node:crypto'
import type { World } from '#runtime/world'

/** The real world: the only file that looks at the clock, waits, or asks for chance. */
export const realWorld: World = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  soon(task) {
    setImmediate(task)
  },
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs)
    timer.unref()
    return () => clearTimeout(timer)
  },
  random: (byteCount) => randomBytes(byteCount),
}

/** How long the loop has worked, and waited for something to do, since it began. Milliseconds. */
export function loopTimes(): { readonly active: number; readonly idle: number } {
  return performance.eventLoopUtilization()
}

/** Shorter spans say nothing. */
const spanMsMin = 100

/** How busy Node's loop was since this was last asked, 0 to 1. */
export function loopShareOf(): () => number {
  let last = performance.eventLoopUtilization()
  let share = 0
  return () => {
    const now = performance.eventLoopUtilization()
    const { idle, active, utilization } = performance.eventLoopUtilization(now, last)
    if (idle + active >= spanMsMin) {
      last = now
      share = utilization
    }
    return share
  }
}
