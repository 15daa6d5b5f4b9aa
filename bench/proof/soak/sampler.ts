import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Dashboard } from '#bench/dashboard'
import type { MemoryUse, ProbeQuestion } from '#bench/harness/memory-probe'
import { LatencyHistogram } from '#bench/histogram'
import { request } from '#bench/http'
import { processUsage } from '#bench/process-usage'
import type { GaugeName } from '#bench/proof/soak/gauges'
import type { Point } from '#bench/proof/soak/slope'
import type { ServerProcess } from '#bench/server-process'

/** Metrics of the server. */
const metrics: Readonly<Partial<Record<GaugeName, string>>> = {
  heap: 'nodejs_heap_size_used_bytes',
  heapTotal: 'nodejs_heap_size_total_bytes',
  external: 'nodejs_external_memory_bytes',
  actors: 'ddb_actors_awake',
  reminders: 'ddb_reminders',
  stream: 'ddb_stream_bytes',
  store: 'ddb_store_memory_bytes',
}

export interface SampledServer {
  readonly server: ServerProcess
  readonly url: string
  readonly authorization: string
  readonly dataFolder: string
}

export interface SamplePace {
  readonly everyMs: number
  /** Garbage is collected after every so-many-th reading. */
  readonly collectEvery: number
  /** A factor for the server's clock where it waits for minutes; its timers stay as they are. */
  readonly timesFaster: number
}

/** Reads all gauges of a running server, again and again, and keeps what it reads. */
export class Sampler {
  readonly #sampled: SampledServer
  readonly #startedAt = performance.now()
  readonly #points = new Map<GaugeName, Point[]>()
  readonly #heard = new LatencyHistogram()
  readonly #listener: Dashboard
  #isStopped = false

  constructor(sampled: SampledServer) {
    // Only the kernel knows the mapped and resident memory and the open files.
    if (!existsSync('/proc/self/status')) throw new Error('there is no /proc to look into')
    this.#sampled = sampled
    this.#listener = new Dashboard({
      ...{ url: sampled.url, authorization: sampled.authorization, from: 'now', isFolding: false },
      query: { types: 'OBJECT_UPDATED' },
      // The time of the device's frame, or of its arrival: on one machine both have the same clock.
      onEvent: ({ timestamp }) => this.#heard.record(Date.now() - Number(timestamp)),
    })
  }

  /** Minutes since it was made. */
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
    this.#listener.start()
    void this.#work(pace)
  }

  stop(): void {
    this.#isStopped = true
    this.#listener.stop()
  }

  async #work({ everyMs, collectEvery, timesFaster }: SamplePace): Promise<void> {
    const { server } = this.#sampled
    for (let looks = 1; !this.#isStopped && !server.isEnded; looks++) {
      await new Promise((resolve) => setTimeout(resolve, everyMs))
      try {
        if (timesFaster > 1) await this.#ask({ type: 'pass', ms: everyMs * (timesFaster - 1) })
        await this.#look()
        if (looks % collectEvery === 0) await this.#collect()
      } catch {
        // A server that does not answer is noticed by all others.
      }
    }
  }

  #ask<Answer>(question: ProbeQuestion): Promise<Answer> {
    return this.#sampled.server.ask<Answer>(question)
  }

  async #look(): Promise<void> {
    const { server, url, dataFolder } = this.#sampled
    const usage = processUsage(server.processId)
    if (!usage) return
    this.#note('resident', usage.residentBytes)
    const anonymous = anonymousBytes(server.processId)
    this.#note('anonymous', anonymous)
    this.#note('descriptors', readdirSync(`/proc/${server.processId}/fd`).length)
    this.#note('database', sizeOf(join(dataFolder, 'db')))
    const { p50, p99, count } = this.#heard.summary()
    this.#heard.clear()
    if (count > 0) this.#note('heardP50', p50)
    if (count > 0) this.#note('heardP99', p99)
    const { text } = await request(`${url}/metrics`)
    for (const [gauge, name] of Object.entries(metrics)) this.#note(gauge as GaugeName, sumOf(text, name))
    this.#note('own', anonymous - this.lastOf('store'))
  }

  /** Everything dead is collected, and what is left is counted. */
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

function anonymousBytes(processId: number): number {
  const status = readFileSync(`/proc/${processId}/status`, 'latin1')
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024
}

/** Of all files in a folder; those that go away meanwhile are none of it. */
function sizeOf(folder: string): number {
  return readdirSync(folder)
    .map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, size) => sum + size, 0)
}

/** Over all its labels. */
function sumOf(text: string, name: string): number {
  const lines = text.split('\n').filter((line) => line.startsWith(name) && /[ {]/.test(line[name.length] ?? ''))
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}
