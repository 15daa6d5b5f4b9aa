import { type StreamEvent, type StreamPosition, streamHead } from '#bench/dashboard'
import { identityOn } from '#bench/harness/identity'
import { Remote } from '#bench/harness/remote'
import { type ServerPlace, type ServerTarget, startAuthenticated } from '#bench/harness/servers'
import { allowedMs, spreadOf } from '#bench/harness/statistics'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { addEnds, count, type EndCounts, endFaults, endsText } from '#bench/load/end-counts'
import { identifierOf } from '#bench/load/fleet-link'
import { sendSingleRequest } from '#bench/load/single-request'
import { processUsage } from '#bench/process-usage'
import { readStream } from '#bench/proof/event-checker'
import type { CaseSize, OverloadCase } from '#bench/proof/overload/cases'
import type { CountedLoadOptions, FrameCounts, Second } from '#bench/proof/overload/counted-load'
import { freePort, type ServerProcess, type ServerSettings, startServer } from '#bench/server-process'
import { sleep, unixMs } from '#bench/time'

export interface CaseOptions extends CaseSize {
  readonly name: string
  /** Seconds before the overload in which the normal latency is measured. */
  readonly baselineSeconds: number
  /** How long to wait for the normal latency after the overload, to report how late it returned. */
  readonly observationSeconds: number
  /** Node arguments that preload bugs into the server, to test the proof itself. */
  readonly planted?: readonly string[]
  readonly print: (line: string) => void
}

export interface CaseReport {
  /** A line with the figures. */
  readonly text: string
  readonly acknowledged: number
  /** Present when normal latency did not return in time. */
  readonly late?: string
  readonly problems: readonly string[]
}

/** Warm-up before the normal latency is measured, as a share of that time. */
const warmUpShare = 0.5
const settleMsMax = 60_000
const askEveryMs = 200
const readMemoryEveryMs = 50
const mib = 1024 * 1024
/** The time limit for reading a stream of a million events and more. */
const readMsMax = 600_000
const problemsMax = 20
/** This many consecutive seconds must be good, because a single good second may be chance. */
const goodInRow = 3
/** The promised recovery time. */
const recoverWithinS = 5
const rated = { prefix: 'RATED', service: '5f2a7c10-0001-4b6d-9e3f-a0000000000c', links: 50 } as const
/** Allowed answers to clients that behave well while others overload the server. */
const bystanders = { allowed: ['200', '429', '503', 'ERROR OVERLOADED', 'close 1013'], needed: [['200']] } as const

export async function runCase(kind: OverloadCase, options: CaseOptions): Promise<CaseReport> {
  const folder = temporaryFolder('overload-proof-')
  const run = new CaseRun(kind, options, { port: await freePort(), dataFolder: folder.path })
  try {
    return await run.run()
  } finally {
    await run.end()
    await folder.remove()
  }
}

class CaseRun {
  readonly #kind: OverloadCase
  readonly #options: CaseOptions
  readonly #where: ServerPlace
  readonly #rated = new Remote('proof/overload/counted-load')
  readonly #attack: Remote
  readonly #problems: string[] = []
  #server: ServerProcess | undefined

  constructor(kind: OverloadCase, options: CaseOptions, where: ServerPlace) {
    this.#kind = kind
    this.#options = options
    this.#where = where
    this.#attack = new Remote(kind.program)
  }

  async run(): Promise<CaseReport> {
    const { capMib, rules } = this.#kind
    const { server, authorizations } = await startAuthenticated(this.#settings())
    this.#server = server
    const place: ServerTarget = { port: this.#where.port, processId: server.processId, authorizations }
    const first = await streamHead(server.url, authorizations?.person)
    await this.#open(place)
    const normal = await this.#normal()

    const stopWatching = watchMemory(server.processId)
    const stopAsking = askRegularly(place)
    const startedAt = unixMs()
    const ends = await this.#attack.ask<EndCounts>('run', { seconds: this.#options.seconds })
    const endedAt = unixMs()
    const seconds = await this.#observeRecovery(endedAt, startedAt, normal)
    const memory = stopWatching()
    const frameCounts = await this.#settle(ends, await stopAsking())
    await this.#leave()
    this.#problems.push(...endFaults(ends, rules))
    if (server.isEnded) this.#problems.push(`the server ended by itself\n${server.lines.join('\n')}`)
    this.#problems.push(...errorsIn(server.lines))
    if (memory.ownMib > capMib)
      this.#problems.push(`the server used ${memory.ownMib} MiB of private memory, more than ${capMib}`)
    const acknowledged = await this.#auditStream(place, first, frameCounts)

    const back = recoveredAfter(seconds, endedAt, normal)
    const worst = worstOf(seconds, startedAt, endedAt)
    const after = seconds.filter(({ at }) => at >= endedAt)
    const late = lateText(back, normal, after, this.#options.observationSeconds)
    return {
      text:
        `p99 ${normal.p99.toFixed(1)} ms before, in the worst second ${msText(worst)}, ` +
        `${back === undefined ? 'not back' : `back after ${back.toFixed(1)} s`}; ` +
        `${memory.ownMib} MiB private memory, at most ${capMib} (${memory.allMib} with mapped files); ` +
        `${endsText(ends)}; ${acknowledged} frames acknowledged and found`,
      acknowledged,
      ...(late !== undefined && { late }),
      problems: this.#problems,
    }
  }

  /**
   * Kills the server first, so that data that was only in memory is gone. Then compares the stream with the sent
   * frames. Returns how many frames were acknowledged.
   */
  async #auditStream(place: ServerTarget, first: StreamPosition, frameCounts: readonly FrameCounts[]): Promise<number> {
    await this.#server?.kill()
    const { nodeArguments: _, ...plain } = this.#settings()
    try {
      this.#server = await startServer(plain)
      const url = `http://127.0.0.1:${place.port}`
      const authorization = place.authorizations?.person
      const isCounted = ({ deviceIdentifier }: StreamEvent) =>
        frameCounts.some(({ prefix }) => String(deviceIdentifier).startsWith(`${prefix}-`))
      const others = (event: StreamEvent) => !isCounted(event)
      const sentFrames = () => frameCounts
      const options = { name: 'stream', url, from: first, authorization, sentFrames, others }
      const { frames, faults } = await readStream(options, readMsMax)
      this.#problems.push(...faults.slice(0, problemsMax))
      return frames.report().acknowledged
    } catch (error) {
      this.#problems.push(`the stored data can't be read: ${error instanceof Error ? error.message : error}`)
      return 0
    }
  }

  async end(): Promise<void> {
    await this.#leave()
    await this.#server?.kill()
  }

  async #leave(): Promise<void> {
    await this.#attack.ask('close').catch(() => undefined)
    await this.#attack.stop()
    await this.#rated.stop()
  }

  async #open(place: ServerTarget): Promise<void> {
    const { scale, seed } = this.#options
    const load: CountedLoadOptions = {
      ...place,
      ...{ ...rated, devices: Math.max(1, Math.round(200 * scale)) * rated.links },
      ...{ framesPerSecond: this.#options.rated, seed },
    }
    await this.#rated.ask('open', load)
    await this.#attack.ask('open', { ...this.#kind.options(this.#options), ...place })
  }

  async #normal(): Promise<NormalLatency> {
    await this.#rated.ask('begin')
    const { baselineSeconds, name, rated, print } = this.#options
    await sleep(baselineSeconds * warmUpShare * 1_000)
    const from = unixMs()
    await sleep((baselineSeconds + 2) * 1_000)
    const normal = normalLatencyOf(await this.#seconds(from))
    print(`${name}: normal p99 ${normal.p99.toFixed(1)} ms at ${rated} frames/s`)
    return normal
  }

  /** Waits until normal latency returns, or for a time limit. */
  async #observeRecovery(endedAt: number, startedAt: number, normal: NormalLatency): Promise<readonly Second[]> {
    for (;;) {
      await sleep(500)
      const seconds = await this.#seconds(startedAt)
      const isBack = recoveredAfter(seconds, endedAt, normal) !== undefined
      if (isBack || unixMs() - endedAt > this.#options.observationSeconds * 1_000) return seconds
    }
  }

  #seconds(from: number): Promise<readonly Second[]> {
    return this.#rated.ask('seconds', { from })
  }

  /** Stops all requests, and waits for open ones. `asked`: how the requests of a client that behaves well ended. */
  async #settle(ends: EndCounts, asked: EndCounts): Promise<readonly FrameCounts[]> {
    const isSettled = await Promise.all([
      this.#rated.ask<boolean>('settle'),
      this.#attack.ask<boolean | undefined>('settle'),
    ])
    if (isSettled.includes(false)) this.#problems.push('not all frames were acknowledged within a minute')
    const ofRated = await this.#rated.ask<FrameCounts>('frameCounts')
    const ofAttack = await this.#attack.ask<FrameCounts | undefined>('frameCounts')
    addEnds(ends, ofAttack?.ends ?? {})
    this.#problems.push(...ofRated.faults, ...(ofAttack?.faults ?? []))
    addEnds(asked, ofRated.ends)
    this.#problems.push(...endFaults(asked, bystanders).map((text) => `clients that behave well: ${text}`))
    return ofAttack ? [ofRated, ofAttack] : [ofRated]
  }

  #settings(): ServerSettings {
    const { nodeArguments = [], environment } = this.#kind
    return {
      ...{ ...this.#where, environment: { ...identityOn, ...environment } },
      nodeArguments: [...nodeArguments, ...(this.#options.planted ?? [])],
    }
  }
}

/**
 * Requests a device regularly, each time on a new connection. The returned function stops this, and resolves with the
 * counts of how the requests ended.
 */
function askRegularly({ port, authorizations }: ServerTarget): () => Promise<EndCounts> {
  const person = authorizations ? `Authorization: ${authorizations.person}\r\n` : ''
  const path = `/api/v1/devices/${identifierOf(rated.prefix, 0)}?depth=2`
  const bytes = Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${person}\r\n`)
  const ends: EndCounts = {}
  const open: Promise<void>[] = []
  const timer = setInterval(() => {
    open.push(sendSingleRequest({ port, bytes, timeoutMs: settleMsMax }).then(({ end }) => count(ends, end)))
  }, askEveryMs)
  return async () => {
    clearInterval(timer)
    await Promise.all(open)
    return ends
  }
}

/**
 * Reads the memory of a process regularly until the returned function is called. That function returns the maximum of
 * private memory meanwhile, and of all memory (with mapped files) since the process started. Other checks report it if
 * the process has ended.
 */
function watchMemory(processId: number): () => { readonly ownMib: number; readonly allMib: number } {
  const peak = { ownMib: 0, allMib: 0 }
  const read = () => {
    const { anonymousBytes = 0, residentPeakBytes = 0 } = processUsage(processId) ?? {}
    peak.ownMib = Math.max(peak.ownMib, Math.round(anonymousBytes / mib))
    peak.allMib = Math.max(peak.allMib, Math.round(residentPeakBytes / mib))
  }
  const timer = setInterval(read, readMemoryEveryMs)
  return () => {
    clearInterval(timer)
    read()
    return peak
  }
}

/** The p99 of a normal second before the overload, and the highest p99 that is permitted afterwards. */
interface NormalLatency {
  readonly p99: number
  readonly allowed: number
}

/** Uses the median of the seconds, because other guests of the machine delay some. */
function normalLatencyOf(seconds: readonly Second[]): NormalLatency {
  const p99 = spreadOf(seconds.map((second) => second.p99)).median
  return { p99, allowed: allowedMs(p99) }
}

/** Seconds from `endedAt` (Unix ms) to the first of `goodInRow` consecutive good seconds; undefined: not yet. */
function recoveredAfter(
  seconds: readonly Second[],
  endedAt: number,
  { allowed }: Pick<NormalLatency, 'allowed'>,
): number | undefined {
  let good = 0
  for (const [place, { at, p99 }] of seconds.entries()) {
    if (at < endedAt) continue
    good = p99 <= allowed ? good + 1 : 0
    if (good === goodInRow) return ((seconds[place - goodInRow + 1] as Second).at - endedAt) / 1000
  }
  return undefined
}

/** The highest p99 of the seconds that began between `from` and `to`, for the report. */
function worstOf(seconds: readonly Second[], from: number, to: number): number {
  return Math.max(0, ...seconds.filter(({ at }) => at >= from && at < to).map(({ p99 }) => p99))
}

/** The text for a late recovery; undefined if the server recovered in time. `after`: the seconds after the overload. */
function lateText(
  back: number | undefined,
  normal: NormalLatency,
  after: readonly Second[],
  observationSeconds: number,
): string | undefined {
  if (back !== undefined && back <= recoverWithinS) return undefined
  const limit = `${normal.allowed.toFixed(1)} ms (${normal.p99.toFixed(1)} before)`
  const each = `each second: ${after.map(({ p99 }) => msText(p99)).join(', ')}`
  return back === undefined
    ? `p99 was not within ${limit} for ${goodInRow} seconds in a row, ${observationSeconds} s later; ${each}`
    : `p99 was within ${limit} only after ${back.toFixed(1)} s; ${each}`
}

function msText(ms: number): string {
  return ms < Number.MAX_VALUE ? `${ms.toFixed(1)} ms` : 'beyond a second'
}

/** Errors in the server's own log. */
function errorsIn(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => /"level":"(error|fatal)"/.test(line)).map((line) => `the server logged: ${line}`)
}
