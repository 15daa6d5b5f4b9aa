import { streamHead } from '#bench/dashboard'
import type { Fleet } from '#bench/fleet/fleet'
import { identityOn } from '#bench/harness/identity'
import { Remote } from '#bench/harness/remote'
import type { ServerTarget } from '#bench/harness/server-target'
import { startAuthenticated } from '#bench/harness/servers'
import { stolenSince } from '#bench/harness/stolen-time'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { identifierOf } from '#bench/load/fleet-link'
import { proofFleets } from '#bench/proof/fleets'
import { type Attack, keyOf } from '#bench/proof/overload/attacks'
import type { CaseSize, OverloadCase } from '#bench/proof/overload/cases'
import type { CountedFleetOptions, FrameCounts } from '#bench/proof/overload/counted-fleet'
import { addEnds, count, type EndCounts, endFaults, endsText } from '#bench/proof/overload/end-counts'
import { type MemoryPeak, MemoryWatch } from '#bench/proof/overload/memory-watch'
import {
  goodInRow,
  type NormalLatency,
  normalLatencyOf,
  recoveredAfter,
  recoverWithinS,
  type Second,
  worstOf,
} from '#bench/proof/overload/recovery'
import { RequestClient } from '#bench/proof/overload/request-client'
import { type Audited, type AuditOptions, auditStream } from '#bench/proof/overload/stream-audit'
import { freePort, type ServerProcess, type ServerSettings, startServer } from '#bench/server-process'

export interface CaseOptions extends CaseSize {
  readonly name: string
  /** Seconds before the overload in which the normal latency is measured. */
  readonly baselineSeconds: number
  /** How long to wait for the normal latency: shows how late it was. */
  readonly observationSeconds: number
  /** Modules preloaded into the server: bugs to test the proof itself. */
  readonly planted?: readonly string[]
  readonly print: (line: string) => void
}

export interface CaseReport {
  readonly overloadSeconds: number
  readonly normal: NormalLatency
  /** The worst second, ms; absent where more than one event in a hundred was missing for a second. */
  readonly worstP99?: number
  /** Seconds; absent: not recovered during the observation. */
  readonly recoveredAfter?: number
  /** Shares of all processors that the host gave to other guests before and after the overload, where reported. */
  readonly stolen: { readonly before: number | undefined; readonly behind: number | undefined }
  readonly memory: MemoryPeak
  readonly capMib: number
  readonly ends: EndCounts
  readonly acknowledged: number
  readonly events: number
  readonly late?: string
  readonly problems: readonly string[]
}

/** Warm-up before the normal latency is measured, as a share of that time. */
const warmUpShare = 0.5
const settleMsMax = 60_000
/**
 * In addition to the rated load: devices of every protocol and form, whose frames are compared one by one with the
 * events.
 */
const honest = { devices: 50, rate: 500 } as const
const ratedPrefix = 'RATED'
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
  readonly #where: { readonly port: number; readonly dataFolder: string }
  readonly #rated = new Remote('proof/overload/counted-load')
  readonly #attack: Attack
  readonly #problems: string[] = []
  #server: ServerProcess | undefined
  #fleets: readonly Fleet[] = []
  #watch: MemoryWatch | undefined
  #asker: RequestClient | undefined

  constructor(kind: OverloadCase, options: CaseOptions, where: { readonly port: number; readonly dataFolder: string }) {
    this.#kind = kind
    this.#options = options
    this.#where = where
    this.#attack = kind.attack(options)
  }

  async run(): Promise<CaseReport> {
    const { capMib, rules } = this.#kind
    const { server, authorizations } = await startAuthenticated(this.#settings())
    this.#server = server
    const place: ServerTarget = { port: this.#where.port, serverProcessId: server.processId, authorizations }
    const first = await streamHead(server.url, authorizations?.person)
    await this.#open(place)
    const stolenBefore = stolenSince()
    const normal = await this.#normal()
    const before = stolenBefore()

    const watch = new MemoryWatch(server.processId)
    this.#watch = watch
    const asker = new RequestClient(place, `/devices/${identifierOf(ratedPrefix, 0)}?depth=2`)
    this.#asker = asker
    const startedAt = now()
    const ends = await this.#attack.run(this.#options.seconds)
    const endedAt = now()
    const stolenBehind = stolenSince()
    const seconds = await this.#observeRecovery(endedAt, startedAt, normal)
    const stolen = { before, behind: stolenBehind() }
    const memory = watch.stop()
    const frameCounts = await this.#settle(ends, await asker.stop())
    await this.#leave()
    this.#problems.push(...endFaults(ends, rules))
    if (server.isEnded) this.#problems.push(`the server ended by itself\n${server.lines.join('\n')}`)
    this.#problems.push(...errorsIn(server.lines))

    const audit = await this.#auditStream({
      ...place,
      first,
      fleets: [...this.#fleets, ...this.#attack.fleets],
      frameCounts,
    })
    this.#problems.push(...audit.problems)
    const back = recoveredAfter(seconds, endedAt, normal)
    const worst = worstOf(seconds, startedAt, endedAt)
    const after = seconds.filter(({ at }) => at >= endedAt)
    const late = lateText(back, { normal, stolen, after }, this.#options.observationSeconds)
    if (memory.ownMib > capMib)
      this.#problems.push(`the server held ${memory.ownMib} MiB for itself, more than ${capMib}`)
    return {
      overloadSeconds: (endedAt - startedAt) / 1000,
      normal,
      ...(worst < Number.MAX_VALUE && { worstP99: worst }),
      ...(back !== undefined && { recoveredAfter: back }),
      stolen,
      memory,
      capMib,
      ends,
      acknowledged: audit.acknowledged,
      events: audit.events,
      ...(late !== undefined && { late }),
      problems: this.#problems,
    }
  }

  /** After a SIGKILL: data that was only in memory is gone. */
  async #auditStream(options: AuditOptions): Promise<Audited> {
    await this.#server?.kill()
    const { nodeArguments: _, ...plain } = this.#settings()
    try {
      this.#server = await startServer(plain)
      return await auditStream(options)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      return { events: 0, acknowledged: 0, problems: [`what is stored can't be read: ${message}`] }
    }
  }

  async end(): Promise<void> {
    await this.#leave()
    this.#watch?.stop()
    await this.#server?.kill()
    await this.#asker?.stop()
  }

  async #leave(): Promise<void> {
    await Promise.all(this.#fleets.map((fleet) => fleet.stop(false)))
    await this.#attack.close()
    await this.#rated.stop()
  }

  async #open(place: ServerTarget): Promise<void> {
    const { rated, scale, seed } = this.#options
    const { port, authorizations } = place
    const load: CountedFleetOptions = {
      ...place,
      devices: Math.max(1, Math.round(200 * scale)) * 50,
      links: 50,
      framesPerSecond: rated,
      prefix: ratedPrefix,
      service: '5f2a7c10-0001-4b6d-9e3f-a0000000000c',
      seed,
      window: 1_000,
      gatherMs: 5,
    }
    await this.#rated.ask('open', load)
    await this.#attack.open(place)
    const key = authorizations ? keyOf(authorizations.link) : ''
    this.#fleets = proofFleets(`http://127.0.0.1:${port}`, { ...honest, seed, key })
    for (const fleet of this.#fleets) fleet.start()
    for (const fleet of this.#fleets) {
      if (!(await fleet.allOnline(settleMsMax))) throw new Error(`not all of ${fleet.options.prefix} were welcome`)
    }
  }

  async #normal(): Promise<NormalLatency> {
    await this.#rated.ask('begin')
    const { baselineSeconds } = this.#options
    await pass(baselineSeconds * warmUpShare * 1_000)
    const from = now()
    await pass((baselineSeconds + 2) * 1_000)
    const normal = normalLatencyOf(await this.#seconds(from))
    this.#options.print(
      `${this.#options.name}: normal p99 ${normal.p99.toFixed(1)} ms at ${this.#options.rated} frames/s`,
    )
    return normal
  }

  /** Waits until normal latency returns, or for a time limit. */
  async #observeRecovery(endedAt: number, startedAt: number, normal: NormalLatency): Promise<readonly Second[]> {
    for (;;) {
      await pass(500)
      const seconds = await this.#seconds(startedAt)
      const isBack = recoveredAfter(seconds, endedAt, normal) !== undefined
      if (isBack || now() - endedAt > this.#options.observationSeconds * 1_000) return seconds
    }
  }

  #seconds(from: number): Promise<readonly Second[]> {
    return this.#rated.ask('seconds', { from })
  }

  /** Stops all requests, and waits for open ones. */
  async #settle(ends: EndCounts, asked: EndCounts): Promise<readonly FrameCounts[]> {
    for (const fleet of this.#fleets) fleet.pause()
    const isSettled = await Promise.all([
      this.#rated.ask<boolean>('settle'),
      this.#attack.settle(),
      ...this.#fleets.map((fleet) => fleet.settled(settleMsMax)),
    ])
    if (isSettled.includes(false)) this.#problems.push('not all that was sent was acknowledged within a minute')
    const rated = await this.#rated.ask<FrameCounts>('frameCounts')
    const attack = await this.#attack.frameCounts()
    for (const frameCounts of attack) addEnds(ends, frameCounts.ends)
    for (const { faults } of [rated, ...attack]) this.#problems.push(...faults)
    const others = endFaults(this.#endsOfOthers([asked, rated.ends]), bystanders)
    this.#problems.push(...others.map((text) => `of those who did nothing wrong, ${text}`))
    return [rated, ...attack]
  }

  #endsOfOthers(more: readonly EndCounts[]): EndCounts {
    const ends: EndCounts = {}
    for (const each of more) addEnds(ends, each)
    for (const { counts } of this.#fleets) {
      for (const [code, times] of counts.closes) count(ends, `close ${code}`, times)
      for (const [error, times] of counts.errors)
        count(ends, error === 'OVERLOADED' ? 'ERROR OVERLOADED' : error, times)
      for (const fault of counts.faults) count(ends, fault)
    }
    return ends
  }

  #settings(): ServerSettings {
    const { nodeArguments = [], environment } = this.#kind
    return {
      ...this.#where,
      environment: { ...identityOn, ...environment },
      nodeArguments: [...nodeArguments, ...(this.#options.planted ?? [])],
    }
  }
}

export function caseText({ normal, ...report }: CaseReport): string {
  const worst = report.worstP99 === undefined ? 'beyond a second' : `${report.worstP99.toFixed(0)} ms`
  const back = report.recoveredAfter === undefined ? 'not back' : `back after ${report.recoveredAfter.toFixed(1)} s`
  return (
    `p99 ${normal.p99.toFixed(1)} ms before, in the worst second ${worst}, ${back}; ` +
    `${report.memory.ownMib} MiB private memory, at most ${report.capMib} (${report.memory.allMib} with mapped files); ` +
    `${endsText(report.ends)}; ${report.acknowledged} frames acknowledged and found`
  )
}

/** Undefined when it recovered in time. `after`: the seconds after the overload. */
function lateText(
  back: number | undefined,
  { normal, stolen, after }: Pick<CaseReport, 'normal' | 'stolen'> & { readonly after: readonly Second[] },
  observationSeconds: number,
): string | undefined {
  if (back !== undefined && back <= recoverWithinS) return undefined
  const limit = `${normal.allowed.toFixed(1)} ms (${normal.p99.toFixed(1)} before)`
  const each = `each second: ${after.map(({ p99 }) => (p99 < Number.MAX_VALUE ? p99.toFixed(1) : 'beyond a second')).join(', ')}`
  const others = `the host took ${percent(stolen.before)} of the processors before, ${percent(stolen.behind)} behind`
  return back === undefined
    ? `p99 was not within ${limit} for ${goodInRow} seconds in a row, ${observationSeconds} s later; ${each}; ${others}`
    : `p99 was within ${limit} only after ${back.toFixed(1)} s; ${each}; ${others}`
}

const percent = (share: number | undefined): string =>
  share === undefined ? 'who knows what' : `${(100 * share).toFixed(1)} %`

/** Errors in the server's own log. */
function errorsIn(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => /"level":"(error|fatal)"/.test(line)).map((line) => `the server says: ${line}`)
}

const now = () => performance.timeOrigin + performance.now()
const pass = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
