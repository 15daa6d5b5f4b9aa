import { openSync, readSync } from 'node:fs'

/**
 * Loaded into a server before its own program: measures the longest run of its event loop between two messages. The
 * loop is kept busy meanwhile, so that a run is the time from one iteration of the loop to the next. Time in which the
 * kernel ran another process on the same core is subtracted; time that the host took from a virtual machine cannot be.
 */

export type LoopMessage = { readonly type: 'begin' } | { readonly type: 'end' }

let isWatching = false
let longestMs = 0

process.on('message', ({ type }: LoopMessage) => {
  if (type === 'begin') {
    longestMs = 0
    isWatching = true
    watch(performance.now(), waitedMs())
    process.send?.({})
  }
  if (type === 'end') {
    isWatching = false
    process.send?.({ longestMs })
  }
})

function watch(beganAt: number, waitedBefore: number): void {
  setImmediate(() => {
    const now = performance.now()
    const waited = waitedMs()
    longestMs = Math.max(longestMs, now - beganAt - (waited - waitedBefore))
    if (isWatching) watch(performance.now(), waited)
  })
}

const schedule = openSync('/proc/self/schedstat', 'r')
const buffer = Buffer.alloc(96)

/** How long the main thread was ready to run without a core, in ms: the second field of proc_pid_schedstat. */
function waitedMs(): number {
  const length = readSync(schedule, buffer, 0, buffer.length, 0)
  return Number(buffer.toString('latin1', 0, length).split(' ')[1]) / 1e6
}
