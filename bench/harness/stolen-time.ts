import { readFileSync } from 'node:fs'

/**
 * The share of processor time since this call, 0 to 1, that the host of a virtual machine gave to other guests: "steal"
 * of proc_stat(5). Undefined where it is not reported.
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

/**
 * Ticks of all processors since boot: user, nice, system, idle, iowait, irq, softirq, steal; time of guests is included
 * in the first two.
 */
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
