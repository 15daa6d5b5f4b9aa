import { processUsage } from '#bench/process-usage'

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
