import { randomBytes } from 'node:crypto'
import type { World } from '#runtime/world'

/** Shorter spans say nothing of how busy the loop is. */
const spanMsMin = 100

let spanBegan = performance.eventLoopUtilization()
let shareBefore = 0

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
  loopShare() {
    const now = performance.eventLoopUtilization()
    const { idle, active, utilization } = performance.eventLoopUtilization(now, spanBegan)
    if (idle + active >= spanMsMin) {
      spanBegan = now
      shareBefore = utilization
    }
    return shareBefore
  },
  random: (byteCount) => randomBytes(byteCount),
}

/** How long the loop has worked, and waited for something to do, since it began. Milliseconds. */
export function loopTimes(): { readonly active: number; readonly idle: number } {
  return performance.eventLoopUtilization()
}
