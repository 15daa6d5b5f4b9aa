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

/** What two processes used between two moments: the server that is measured, and the load, which asks from within. */
export interface CpuUse {
  readonly seconds: number
  /** Of the server; all its threads. */
  readonly serverCpuSeconds: number
  /** Of the load; 1 CPU second a second means that it, and not the server, was the limit. */
  readonly loadCpuSeconds: number
}

export class CpuClock {
  readonly #serverProcessId: number
  readonly #startedAt = performance.now()
  readonly #server: number
  readonly #load = process.cpuUsage()

  constructor(serverProcessId: number) {
    this.#serverProcessId = serverProcessId
    this.#server = cpuSecondsOf(serverProcessId)
  }

  read(): CpuUse {
    const { user, system } = process.cpuUsage(this.#load)
    return {
      seconds: (performance.now() - this.#startedAt) / 1000,
      serverCpuSeconds: cpuSecondsOf(this.#serverProcessId) - this.#server,
      loadCpuSeconds: (user + system) / 1e6,
    }
  }
}

function cpuSecondsOf(processId: number): number {
  const usage = processUsage(processId)
  if (!usage) throw new Error(`there is no process ${processId}`)
  return usage.cpuSeconds
}
