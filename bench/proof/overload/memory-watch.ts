import { readFileSync } from 'node:fs'

const everyMs = 50
const mib = 1024 * 1024

export interface MemoryPeak {
  /** What the process held for itself, at most: looked at twenty times a second. Caps are for this. */
  readonly ownMib: number
  /** Since it began, with files that are mapped (the program, tables of the database); the kernel takes those back for others. */
  readonly allMib: number
}

/** Watches what a process holds. */
export class MemoryWatch {
  readonly #processId: number
  readonly #timer: NodeJS.Timeout
  #ownBytes = 0
  #allBytes = 0

  constructor(processId: number) {
    this.#processId = processId
    this.#look()
    this.#timer = setInterval(() => this.#look(), everyMs)
  }

  /** Looks once more, and no more. */
  stop(): MemoryPeak {
    clearInterval(this.#timer)
    this.#look()
    return { ownMib: Math.round(this.#ownBytes / mib), allMib: Math.round(this.#allBytes / mib) }
  }

  #look(): void {
    try {
      const status = readFileSync(`/proc/${this.#processId}/status`, 'latin1')
      this.#ownBytes = Math.max(this.#ownBytes, bytesOf(status, 'RssAnon'))
      this.#allBytes = Math.max(this.#allBytes, bytesOf(status, 'VmHWM'))
    } catch {
      // It has ended: that is found elsewhere.
    }
  }
}

function bytesOf(status: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) * 1024
}
