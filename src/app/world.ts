import { randomBytes } from 'node:crypto'
import type { World } from '#runtime/world'

/** Shorter spans say nothing of how busy the loop is. */
const spanMsMin = 100

let spanBegan = performance.eventLoopUtilization()
let shareBefore = 0

/**
 * Node runs what `setImmediate` was given behind the place where uWebSockets.js lets go of closed connections: what is closed
 * there stays in memory for ever, 480 bytes each. What a port is told comes as input does.
 */
let inputs: (() => void)[] = []
const { port1: inputPort, port2 } = new MessageChannel()
port2.on('message', () => {
  const tasks = inputs
  inputs = []
  for (const task of tasks) task()
})
port2.unref()

/** The real world: the only file that looks at the clock, waits, or asks for chance. */
export const realWorld: World = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  soon(task) {
    setImmediate(task)
  },
  asInput(task) {
    if (inputs.push(task) === 1) inputPort.postMessage(undefined)
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
