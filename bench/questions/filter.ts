// Answers: what CPU the server takes for one GET /devices?filter= over 10 000 devices of 10 properties, awake, and forgotten and lying on disk, by status and two properties, and by name alone; and how much longer events wait while such reads follow each other. Does not count: cold disks (the files are in the page cache), what is shown of those found beyond their names, pages.
import { forgotten } from '#bench/harness/forgetting'
import { authorizationHeader } from '#bench/harness/identity'
import { startProbed } from '#bench/harness/probed-server'
import type { Figures, Question, Round, Variant } from '#bench/harness/question'
import { readFor, reported, started, withFleet } from '#bench/harness/reading'
import type { Remote } from '#bench/harness/remote'
import { ours, type RunningServer } from '#bench/harness/servers'
import { request } from '#bench/http'
import { identifierOf, serviceIdentifier } from '#bench/load/fleet-link'
import type { PhaseResult } from '#bench/load/ingest'
import { firstPropId } from '#bench/load/update-template'

const devices = 10_000
const fleet = { devices, links: 50, window: 64, changes: 10, properties: 10, dashboards: 0, prefix: 'LOAD' }

const property = (place: number) => ({ var: `services.${serviceIdentifier}.0x${(firstPropId + place).toString(16)}` })
/** Values have two decimals: one in ten. */
const byState = pathOf({
  and: [{ '!=': [{ var: 'status' }, 'idle'] }, { '>=': [property(0), 0] }, { '<': [{ '%': [property(1), 1] }, 0.095] }],
})
const byName = pathOf({ '==': [{ var: 'deviceIdentifier' }, identifierOf(fleet.prefix, 4_711)] })

function pathOf(filter: object): string {
  return `/api/v1/devices?filter=${encodeURIComponent(JSON.stringify(filter))}`
}

/** Twice: the first reads warm up. */
async function warmReads(server: RunningServer, path: string, { isQuick }: Round): Promise<Figures> {
  await readFor(server, path, isQuick ? 200 : 1_500)
  const { reads, seconds, serverCpuSeconds, loadCpuSeconds } = await readFor(server, path, isQuick ? 500 : 4_000)
  return {
    serverCpuPerRead: (serverCpuSeconds / reads) * 1000,
    msPerRead: (seconds / reads) * 1000,
    found: await foundBy(server, path),
    loadCpu: (loadCpuSeconds / seconds) * 100,
  }
}

async function foundBy({ port, authorizations }: RunningServer, path: string): Promise<number> {
  const headers = authorizationHeader(authorizations?.person)
  const { status, text } = await request(`http://127.0.0.1:${port}${path}`, { headers })
  if (status !== 200) throw new Error(`${path} was answered ${status}: ${text.slice(0, 200)}`)
  return (JSON.parse(text) as unknown[]).length
}

function awake(name: string, path: string): Variant {
  return {
    name,
    measure: (round) =>
      started(ours(), (server) =>
        withFleet(server, fleet, async (load) => {
          await reported(load, devices)
          return await warmReads(server, path, round)
        }),
      ),
  }
}

function asleep(name: string, path: string): Variant {
  return {
    name,
    measure: (round) =>
      started(startProbed, async (server) => {
        await withFleet(server, fleet, (load) => reported(load, devices))
        await forgotten(server)
        return await warmReads(server, path, round)
      }),
  }
}

const others = 'others meanwhile: 5 000 frames/s of 1 change to 1 dashboard'
const quiet = 'no reads'
const framesPerSecond = 5_000

function hearing(name: string, path: string | undefined): Variant {
  return {
    name,
    measure: (round) =>
      started(ours(), (server) =>
        withFleet(server, fleet, async (load) => {
          await reported(load, devices)
          const heardFleet = { ...fleet, changes: 1, dashboards: 1, prefix: 'OTHERS', devices: 1_000, links: 10 }
          return await withFleet(server, heardFleet, (other) => heard(server, other, round, path))
        }),
      ),
  }
}

async function heard(server: RunningServer, load: Remote, round: Round, path: string | undefined): Promise<Figures> {
  const times = round.isQuick ? { warmupMs: 300, measuredMs: 500 } : { warmupMs: 2_000, measuredMs: 8_000 }
  const reading = path === undefined ? undefined : readFor(server, path, times.warmupMs + times.measuredMs)
  const [{ delivery, seconds, serverCpuSeconds }, read] = await Promise.all([
    load.ask<PhaseResult>('run', { ...times, rate: framesPerSecond }),
    reading,
  ])
  return {
    serverCpu: (serverCpuSeconds / seconds) * 100,
    heardP50: delivery.p50,
    heardP99: delivery.p99,
    heardP999: delivery.p999,
    heardMax: delivery.max,
    ...(read && {
      readsPerSecond: read.reads / read.seconds,
      longerP999: Math.max(delivery.p999 - round.earlier(others, quiet, 'heardP999'), 0),
    }),
  }
}

const fleetCase = '10 000 devices of 10 properties'

export const filter: Question = {
  rounds: 3,
  figures: {
    serverCpuPerRead: { title: 'server CPU, ms/read', digits: 1 },
    msPerRead: { title: 'ms/read', digits: 1, isOfLoad: true },
    found: { title: 'found', digits: 0 },
    readsPerSecond: { title: 'reads/s', digits: 1 },
    heardP50: { title: 'heard p50, ms', digits: 1 },
    heardP99: { title: 'heard p99, ms', digits: 1 },
    heardP999: { title: 'heard p99.9, ms', digits: 1 },
    heardMax: { title: 'heard at the longest, ms', digits: 1 },
    longerP999: { title: 'p99.9 longer than without, ms', digits: 1 },
    serverCpu: { title: 'server CPU, %', digits: 0 },
    loadCpu: { title: 'load CPU, %', digits: 0 },
  },
  cases: [
    {
      name: fleetCase,
      variants: [
        awake('awake', byState),
        awake('awake, by name', byName),
        asleep('asleep', byState),
        asleep('asleep, by name', byName),
      ],
    },
    { name: others, variants: [hearing(quiet, undefined), hearing('filtered reads', byState)] },
  ],
  targets: [
    { case: fleetCase, variant: 'awake', figure: 'serverCpuPerRead', atMost: 100 },
    { case: others, variant: 'filtered reads', figure: 'longerP999', atMost: 5 },
  ],
}
