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
