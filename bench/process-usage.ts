import { readFileSync } from 'node:fs'

export interface ProcessUsage {
  /** User and system time since the start of the process. */
  readonly cpuSeconds: number
  readonly residentBytes: number
  /** The resident memory without mapped files, which the kernel can reclaim. */
  readonly anonymousBytes: number
  /** The maximum of `residentBytes` since the start of the process. */
  readonly residentPeakBytes: number
}

/** USER_HZ, which Linux guarantees to programs, independent of the kernel's clock. */
const ticksPerSecond = 100

/** CPU time and memory of a process; undefined where there is no /proc or no such process. */
export function processUsage(processId: number): ProcessUsage | undefined {
  try {
    const stat = readFileSync(`/proc/${processId}/stat`, 'latin1')
    // The second field is the program's name in parentheses and may contain anything; the third follows the last
    // parenthesis.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticks = Number(fields[11]) + Number(fields[12])
    const status = readFileSync(`/proc/${processId}/status`, 'latin1')
    const bytesOf = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) * 1024
    return {
      cpuSeconds: ticks / ticksPerSecond,
      residentBytes: bytesOf('VmRSS'),
      anonymousBytes: bytesOf('RssAnon'),
      residentPeakBytes: bytesOf('VmHWM'),
    }
  } catch {
    return undefined
  }
}

/** The CPU time, since the clock was made, of the measured server and of the load, which is this process. */
export interface CpuUse {
  readonly seconds: number
  /** CPU time of all threads of the server. */
  readonly serverCpuSeconds: number
  /** CPU time of the load generator. If it equals `seconds`, the load was the limit, not the server. */
  readonly loadCpuSeconds: number
}

/** Returns a function that reads the CPU time from now on. */
export function startCpuClock(serverProcessId: number): () => CpuUse {
  const startedAt = performance.now()
  const server = usageOf(serverProcessId).cpuSeconds
  const load = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(load)
    return {
      seconds: (performance.now() - startedAt) / 1000,
      serverCpuSeconds: usageOf(serverProcessId).cpuSeconds - server,
      loadCpuSeconds: (user + system) / 1e6,
    }
  }
}

/** @throws Error if there is no such process */
export function usageOf(processId: number): ProcessUsage {
  const usage = processUsage(processId)
  if (!usage) throw new Error(`there is no process ${processId}`)
  return usage
}
