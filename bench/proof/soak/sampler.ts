import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { MemoryUse, ProbeMessage } from '#bench/harness/memory-probe'
import { processUsage } from '#bench/process-usage'
import type { GaugeName, Point } from '#bench/proof/soak/growth'
import type { ServerProcess } from '#bench/server-process'
import { pass } from '#bench/time'

export interface SamplePace {
  readonly everyMs: number
  /** Garbage is collected after this many readings. */
  readonly collectEvery: number
  /** A factor for the server's clock where it waits for minutes; its timers keep their times. */
  readonly timesFaster: number
}

/** Reads the gauges of a server with the memory probe. */
export class Sampler {
  readonly #server: ServerProcess
  readonly #dataFolder: string
  readonly #startedAt = performance.now()
  readonly #points = new Map<GaugeName, Point[]>()
  #isStopped = false

  constructor(server: ServerProcess, dataFolder: string) {
    this.#server = server
    this.#dataFolder = dataFolder
  }

  pointsOf(gauge: GaugeName): readonly Point[] {
    return this.#points.get(gauge) ?? []
  }

  stop(): void {
    this.#isStopped = true
  }

  async start({ everyMs, collectEvery, timesFaster }: SamplePace): Promise<void> {
    for (let readings = 1; !this.#isStopped && !this.#server.isEnded; readings++) {
      await pass(everyMs)
      try {
        if (timesFaster > 1) await this.#ask({ type: 'pass', ms: everyMs * (timesFaster - 1) })
        this.#read()
        if (readings % collectEvery > 0) continue
        const { heapBytes, bufferBytes, codeBytes } = await this.#ask<MemoryUse>({ type: 'memory' })
        this.#note('live', heapBytes + bufferBytes - codeBytes)
      } catch {
        // Other checks report a server that does not answer.
      }
    }
  }

  #ask<Answer>(question: ProbeMessage): Promise<Answer> {
    return this.#server.ask<Answer>(question)
  }

  #read(): void {
    const usage = processUsage(this.#server.processId)
    if (!usage) return
    const folder = join(this.#dataFolder, 'db')
    const sizes = readdirSync(folder).map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0)
    this.#note('resident', usage.residentBytes)
    this.#note('descriptors', readdirSync(`/proc/${this.#server.processId}/fd`).length)
    this.#note(
      'database',
      sizes.reduce((sum, size) => sum + size, 0),
    )
  }

  #note(gauge: GaugeName, value: number): void {
    const points = this.#points.get(gauge) ?? []
    this.#points.set(gauge, points)
    points.push({ minutes: (performance.now() - this.#startedAt) / 60_000, value })
  }
}
