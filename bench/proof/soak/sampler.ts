import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { MemoryUse, ProbeMessage } from '#bench/harness/memory-probe'
import { request } from '#bench/http'
import { processUsage } from '#bench/process-usage'
import type { GaugeName, Point } from '#bench/proof/soak/growth'
import type { ServerProcess } from '#bench/server-process'

export interface SampledServer {
  readonly server: ServerProcess
  readonly url: string
  readonly dataFolder: string
}

export interface SamplePace {
  readonly everyMs: number
  /** Garbage is collected after this many readings. */
  readonly collectEvery: number
  /** A factor for the server's clock where it waits for minutes; its timers keep their times. */
  readonly timesFaster: number
}

export class Sampler {
  readonly #sampled: SampledServer
  readonly #startedAt = performance.now()
  readonly #points = new Map<GaugeName, Point[]>()
  #isStopped = false

  constructor(sampled: SampledServer) {
    // Only the kernel knows the mapped and resident memory and the open files.
    if (!existsSync('/proc/self/status')) throw new Error('there is no /proc')
    this.#sampled = sampled
  }

  get minutes(): number {
    return (performance.now() - this.#startedAt) / 60_000
  }

  pointsOf(gauge: GaugeName): readonly Point[] {
    return this.#points.get(gauge) ?? []
  }

  lastOf(gauge: GaugeName): number {
    return this.#points.get(gauge)?.at(-1)?.value ?? 0
  }

  start(pace: SamplePace): void {
    void this.#work(pace)
  }

  stop(): void {
    this.#isStopped = true
  }

  async #work({ everyMs, collectEvery, timesFaster }: SamplePace): Promise<void> {
    const { server } = this.#sampled
    for (let readings = 1; !this.#isStopped && !server.isEnded; readings++) {
      await new Promise((resolve) => setTimeout(resolve, everyMs))
      try {
        if (timesFaster > 1) await this.#ask({ type: 'pass', ms: everyMs * (timesFaster - 1) })
        await this.#read()
        if (readings % collectEvery === 0) await this.#collect()
      } catch {
        // Other checks report a server that does not answer.
      }
    }
  }

  #ask<Answer>(question: ProbeMessage): Promise<Answer> {
    return this.#sampled.server.ask<Answer>(question)
  }

  async #read(): Promise<void> {
    const { server, url, dataFolder } = this.#sampled
    const usage = processUsage(server.processId)
    if (!usage) return
    this.#note('resident', usage.residentBytes)
    const { text } = await request(`${url}/metrics`)
    const [, store = ''] = /^ddb_store_memory_bytes (\S+)$/m.exec(text) ?? []
    this.#note('own', usage.anonymousBytes - Number(store))
    this.#note('descriptors', readdirSync(`/proc/${server.processId}/fd`).length)
    this.#note('database', sizeOf(join(dataFolder, 'db')))
  }

  /** Counts live memory after garbage collections. */
  async #collect(): Promise<void> {
    const { heapBytes, bufferBytes, codeBytes } = await this.#ask<MemoryUse>({ type: 'memory' })
    this.#note('live', heapBytes + bufferBytes - codeBytes)
    this.#note('code', codeBytes)
  }

  #note(gauge: GaugeName, value: number): void {
    const points = this.#points.get(gauge) ?? []
    this.#points.set(gauge, points)
    points.push({ minutes: this.minutes, value })
  }
}

function sizeOf(folder: string): number {
  return readdirSync(folder)
    .map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, size) => sum + size, 0)
}
