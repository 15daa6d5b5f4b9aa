import { randomBytes } from 'node:crypto'
import type { World } from '#runtime/world'

/** Shorter spans do not show how busy the loop is. */
const spanMsMin = 100

let spanBegan = performance.eventLoopUtilization()
let shareBefore = 0

/**
 * Node runs `setImmediate` callbacks after the point where uWebSockets.js frees closed connections: a connection
 * closed in such a callback stays in memory for ever, 480 bytes each. So the tasks of `asInput` run when a message
 * arrives at a `MessagePort`.
 */
let inputs: (() => void)[] = []
const { port1: inputPort, port2 } = new MessageChannel()
port2.on('message', () => {
  const tasks = inputs
  inputs = []
  for (const task of tasks) task()
})
port2.unref()

/** The real world: the only file of the server that reads the clock, waits, or uses randomness. */
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

/** The time the loop was active and idle since its start, in milliseconds. */
export function loopTimes(): { readonly active: number; readonly idle: number } {
  return performance.eventLoopUtilization()
}
