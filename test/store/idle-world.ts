import type { World } from '#runtime/world'

/** A small world: time jumps to the next task whenever Node is idle. */
export function idleWorld(seed: number): World {
  const tasks: { at: number; order: number; task: () => void }[] = []
  let now = 0
  let order = 0
  let state = seed
  const after = (delayMs: number, task: () => void) => {
    const entry = { at: now + delayMs, order: order++, task }
    tasks.push(entry)
    tasks.sort((one, other) => one.at - other.at || one.order - other.order)
    setImmediate(() => {
      const next = tasks.shift()
      if (!next) return
      now = next.at
      next.task()
    })
    return () => {
      const place = tasks.indexOf(entry)
      if (place >= 0) tasks.splice(place, 1)
    }
  }
  return {
    now: () => now,
    monotonic: () => now,
    soon: (task) => void after(0, task),
    asInput: (task) => void after(0, task),
    after,
    loopShare: () => 0,
    random: (byteCount) =>
      Uint8Array.from({ length: byteCount }, () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0
        return state >>> 24
      }),
  }
}
