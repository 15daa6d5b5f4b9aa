import { readFileSync } from 'node:fs'

export interface ProcessUsage {
  /** User and system time since its start. */
  readonly cpuSeconds: number
  readonly residentBytes: number
}

/** USER_HZ, which Linux promises to programs whatever the kernel's own clock is. */
const ticksPerSecond = 100

/** What a process has used so far; nothing where there is no /proc, or no such process. */
export function processUsage(processId: number): ProcessUsage | undefined {
  try {
    const stat = readFileSync(`/proc/${processId}/stat`, 'latin1')
    // The second field is the program's name in parentheses, and may hold anything; the third follows the last of them.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticks = Number(fields[11]) + Number(fields[12])
    const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${processId}/status`, 'latin1'))
    return { cpuSeconds: ticks / ticksPerSecond, residentBytes: Number(resident?.[1] ?? 0) * 1024 }
  } catch {
    return undefined
  }
}
