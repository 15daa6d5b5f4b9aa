import { type StreamEvent, type StreamPosition, streamHead } from '#bench/dashboard'
import { identityOn } from '#bench/harness/identity'
import { Remote } from '#bench/harness/remote'
import { type ServerTarget, startAuthenticated } from '#bench/harness/servers'
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
  const port = await freePort()
  const environment = { ...identityOn, ...kind.environment }
  const settings: ServerSettings = { port, dataFolder: folder.path, environment }
  const steady = new Remote('proof/overload/counted-load')
  const attack = new Remote(kind.program)
  const stopLoads = async () => {
    await attack.ask('close').catch(() => undefined)
    await Promise.all([attack.stop(), steady.stop()])
  }
  let server: ServerProcess | undefined
  try {
    const nodeArguments = [...(kind.nodeArguments ?? []), ...(options.planted ?? [])]
    const started = await startAuthenticated({ ...settings, nodeArguments })
    server = started.server
    const { processId } = server
    const { authorizations } = started
    const target: ServerTarget = { port, processId, authorizations }
    const first = await streamHead(server.url, authorizations?.person)
    await steady.ask('open', {
      ...{ ...target, ...rated, devices: Math.max(1, Math.round(200 * options.scale)) * rated.links },
      ...{ framesPerSecond: options.rated, seed: options.seed },
    } satisfies CountedLoadOptions)
    await attack.ask('open', { ...kind.options(options), ...target })
    const secondsFrom = (from: number) => steady.ask<readonly Second[]>('seconds', { from })
    const normal = await normalLatency(steady, options, secondsFrom)

    const stopWatching = watchMemory(processId)
    const stopAsking = askRegularly(target)
    const startedAt = unixMs()
    const ends = await attack.ask<EndCounts>('run', { seconds: options.seconds })
    const endedAt = unixMs()
    // Waits until normal latency returns, or for a time limit.
    let seconds: readonly Second[]
    let back: number | undefined
    do {
      await sleep(500)
      seconds = await secondsFrom(startedAt)
      back = recoveredAfter(seconds, endedAt, normal)
    } while (back === undefined && unixMs() - endedAt <= options.observationSeconds * 1_000)
    const memory = stopWatching()
    const { frameCounts, problems } = await settle(steady, attack, ends, await stopAsking())
    await stopLoads()
    problems.push(...endFaults(ends, kind.rules))
    if (server.isEnded) problems.push(`the server ended by itself\n${server.lines.join('\n')}`)
    const errors = server.lines.filter((line) => /"level":"(error|fatal)"/.test(line))
    problems.push(...errors.map((line) => `the server logged: ${line}`))
    if (memory.ownMib > kind.capMib)
      problems.push(`the server used ${memory.ownMib} MiB of private memory, more than ${kind.capMib}`)
    // Data that was only in memory is gone after this.
    await server.kill()
    const acknowledged = await auditStream(settings, authorizations?.person, first, frameCounts, problems)

    const during = seconds.filter(({ at }) => at >= startedAt && at < endedAt)
    const after = seconds.filter(({ at }) => at >= endedAt)
    const late = lateText(back, normal, after, options.observationSeconds)
    return {
      text:
        `p99 ${normal.p99.toFixed(1)} ms before, in the worst second ${msText(Math.max(0, ...during.map(({ p99 }) => p99)))}, ` +
        `${back === undefined ? 'not back' : `back after ${back.toFixed(1)} s`}; ` +
        `${memory.ownMib} MiB private memory, at most ${kind.capMib} (${memory.allMib} with mapped files); ` +
        `${endsText(ends)}; ${acknowledged} frames acknowledged and found`,
      ...{ acknowledged, problems, ...(late !== undefined && { late }) },
    }
  } finally {
    await stopLoads()
    await server?.kill()
    await folder.remove()
  }
}

async function normalLatency(
  steady: Remote,
  { baselineSeconds, name, rated, print }: CaseOptions,
  secondsFrom: (from: number) => Promise<readonly Second[]>,
): Promise<NormalLatency> {
  await steady.ask('begin')
  await sleep(baselineSeconds * warmUpShare * 1_000)
  const from = unixMs()
  await sleep((baselineSeconds + 2) * 1_000)
  // Uses the median of the seconds, because other guests of the machine delay some.
  const p99 = spreadOf((await secondsFrom(from)).map((second) => second.p99)).median
  print(`${name}: normal p99 ${p99.toFixed(1)} ms at ${rated} frames/s`)
  return { p99, allowed: allowedMs(p99) }
}

/**
 * Stops all requests, and waits for open ones. `ends` also gets the later ends of the attack. `asked`: how the requests
 * of a client that behaves well ended.
 */
async function settle(steady: Remote, attack: Remote, ends: EndCounts, asked: EndCounts) {
  const problems: string[] = []
  const loads = [steady, attack]
  const settled = await Promise.all(loads.map((load) => load.ask<boolean | undefined>('settle')))
  if (settled.includes(false)) problems.push('not all frames were acknowledged within a minute')
  const ofSteady = await steady.ask<FrameCounts>('frameCounts')
  const ofAttack = await attack.ask<FrameCounts | undefined>('frameCounts')
  addEnds(ends, ofAttack?.ends ?? {})
  addEnds(asked, ofSteady.ends)
  problems.push(...ofSteady.faults, ...(ofAttack?.faults ?? []))
  problems.push(...endFaults(asked, bystanders).map((text) => `clients that behave well: ${text}`))
  return { frameCounts: ofAttack ? [ofSteady, ofAttack] : [ofSteady], problems }
}

/** Starts a server again, and compares its stream with the sent frames. Returns how many were acknowledged. */
async function auditStream(
  settings: ServerSettings,
  authorization: string | undefined,
  from: StreamPosition,
  frameCounts: readonly FrameCounts[],
  problems: string[],
): Promise<number> {
  const isCounted = ({ deviceIdentifier }: StreamEvent) =>
    frameCounts.some(({ prefix }) => String(deviceIdentifier).startsWith(`${prefix}-`))
  const others = (event: StreamEvent) => !isCounted(event)
  const sentFrames = () => frameCounts
  let server: ServerProcess | undefined
  try {
    server = await startServer(settings)
    const { url } = server
    const { frames, faults } = await readStream(
      { name: 'stream', url, from, authorization, sentFrames, others },
      readMsMax,
    )
    problems.push(...faults.slice(0, problemsMax))
    return frames.report().acknowledged
  } catch (error) {
    problems.push(`the stored data can't be read: ${error instanceof Error ? error.message : error}`)
    return 0
  } finally {
    await server?.kill()
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
