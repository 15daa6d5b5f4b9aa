import { readFileSync } from 'node:fs'

const everyMs = 50
const mib = 1024 * 1024

export interface MemoryPeak {
  /** Maximum private memory of the process, read twenty times a second. The caps apply to it. */
  readonly ownMib: number
  /** Maximum since the start, with mapped files (the program, tables of the database), which the kernel can reclaim. */
  readonly allMib: number
}

export class MemoryWatch {
  readonly #processId: number
  readonly #timer: NodeJS.Timeout
  #ownBytes = 0
  #allBytes = 0

  constructor(processId: number) {
    this.#processId = processId
    this.#read()
    this.#timer = setInterval(() => this.#read(), everyMs)
  }

  /** Reads once more, and stops. */
  stop(): MemoryPeak {
    clearInterval(this.#timer)
    this.#read()
    return { ownMib: Math.round(this.#ownBytes / mib), allMib: Math.round(this.#allBytes / mib) }
  }

  #read(): void {
    try {
      const status = readFileSync(`/proc/${this.#processId}/status`, 'latin1')
      this.#ownBytes = Math.max(this.#ownBytes, bytesOf(status, 'RssAnon'))
      this.#allBytes = Math.max(this.#allBytes, bytesOf(status, 'VmHWM'))
    } catch {
      // The process has ended: other checks report that.
    }
  }
}

function bytesOf(status: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) * 1024
}
