import { readFileSync } from 'node:fs'

/**
 * The share of the processors' time since this was called, 0 to 1, that the host of a virtual machine gave to others: "steal"
 * of proc_stat(5). Undefined where that is not told.
 */
export function stolenSince(read: () => string = procStat): () => number | undefined {
  const before = timesIn(read())
  return () => {
    const after = timesIn(read())
    if (!before || !after) return undefined
    const all = after.all - before.all
    return all > 0 ? (after.stolen - before.stolen) / all : 0
  }
}

/** In ticks, of all processors since the start: user, nice, system, idle, iowait, irq, softirq, steal; guests are among the first. */
function timesIn(text: string): { readonly all: number; readonly stolen: number } | undefined {
  const found = /^cpu +(\d+(?: \d+){7})/m.exec(text)?.[1]?.split(' ').map(Number)
  return found && { all: found.reduce((sum, ticks) => sum + ticks, 0), stolen: found.at(-1) as number }
}

function procStat(): string {
  try {
    return readFileSync('/proc/stat', 'latin1')
  } catch {
    return ''
  }
}
