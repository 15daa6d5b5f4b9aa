import { processUsage } from '#bench/process-usage'

const everyMs = 50
const mib = 1024 * 1024

export interface MemoryPeak {
  /** Maximum private memory of the process, read twenty times a second. The caps apply to it. */
  readonly ownMib: number
  /** Maximum since the start, with mapped files (the program, tables of the database). */
  readonly allMib: number
}

export class MemoryWatch {
  readonly #processId: number
  readonly #timer: NodeJS.Timeout
  #peak: MemoryPeak = { ownMib: 0, allMib: 0 }

  constructor(processId: number) {
    this.#processId = processId
    this.#timer = setInterval(() => this.#read(), everyMs)
  }

  /** Reads once more, and stops. */
  stop(): MemoryPeak {
    clearInterval(this.#timer)
    this.#read()
    return this.#peak
  }

  /** Ignores a process that has ended, because other checks report that. */
  #read(): void {
    const { anonymousBytes = 0, residentPeakBytes = 0 } = processUsage(this.#processId) ?? {}
    const { ownMib, allMib } = this.#peak
    this.#peak = {
      ownMib: Math.max(ownMib, Math.round(anonymousBytes / mib)),
      allMib: Math.max(allMib, Math.round(residentPeakBytes / mib)),
    }
  }
}
