// Answers: what the server's memory grows by for each connected device of 10 FLOAT properties that reports, for each device it has forgotten, and for each idle dashboard. Does not count: what is bounded whatever the number of devices and was filled before (the stream's ring, LevelDB's buffers and cache), nor V8's young generation, which is bounded too and empty by then (its room is told beside); in heap figures ArrayBuffers, which are that ring; files mapped from the page cache, which RSS would hold too; the kernel's part of a socket.
import { forgotten } from '#bench/harness/forgetting'
import type { MemoryUse } from '#bench/harness/memory-probe'
import { type ProbedServer, startProbed } from '#bench/harness/probed-server'
import type { Figures, Question, Round } from '#bench/harness/question'
import { Remote } from '#bench/harness/remote'
import { placeOf } from '#bench/harness/under-load'
import type { IngestSpec, PhaseResult } from '#bench/load/ingest'

const fleet = { links: 50, window: 64, changes: 10, properties: 10, dashboards: 0 }
/** `restMs`: V8 judges by the last five seconds whether it may make its young generation smaller. */
function sizesOf({ isQuick }: Round) {
  return isQuick
    ? { devices: 5_000, sockets: 500, fillMs: 500, reportMs: 500, restMs: 0 }
    : { devices: 100_000, sockets: 5_000, fillMs: 12_000, reportMs: 8_000, restMs: 6_000 }
}

async function loaded<Result>(spec: Partial<IngestSpec>, server: ProbedServer, use: (load: Remote) => Promise<Result>) {
  const load = new Remote('load/ingest')
  try {
    await load.ask('open', { prefix: 'LOAD', ...fleet, ...spec, ...placeOf(server) })
    return await use(load)
  } finally {
    await load.stop()
  }
}

/** A few devices send until everything that is bounded has been filled, and are forgotten. */
async function fill(server: ProbedServer, milliseconds: number): Promise<MemoryUse> {
  await loaded({ devices: 1_000, prefix: 'FILL' }, server, (load) =>
    load.ask('run', { warmupMs: 0, measuredMs: milliseconds }),
  )
  return await forgotten(server)
}

/** What was allocated since the last collection counts for all the time since: so there is one before the rest too. */
async function rested(server: ProbedServer, restMs: number): Promise<MemoryUse> {
  await server.memory()
  await pause(restMs)
  return await server.memory()
}

async function devices(round: Round): Promise<Figures> {
  const { devices, fillMs, reportMs, restMs } = sizesOf(round)
  const server = await startProbed()
  try {
    const before = await fill(server, fillMs)
    const hot = await loaded({ devices }, server, async (load) => {
      await load.ask<PhaseResult>('run', { warmupMs: 0, measuredMs: reportMs })
      const silent = await load.ask<number>('silent')
      if (silent > 0) throw new Error(`${silent} of ${devices} devices have not reported`)
      return await rested(server, restMs)
    })
    const after = await forgotten(server)
    return {
      heapBytes: (hot.heapBytes - before.heapBytes) / devices,
      residentBytes: (hot.residentBytes - before.residentBytes) / devices,
      youngBytes: (hot.youngBytes - before.youngBytes) / devices,
      forgottenBytes: (after.heapBytes - before.heapBytes) / devices,
      residentBefore: before.residentBytes / 2 ** 20,
    }
  } finally {
    await server.stop()
  }
}

async function dashboards(round: Round): Promise<Figures> {
  const { sockets, restMs } = sizesOf(round)
  const server = await startProbed()
  try {
    // The first ones make the server ready for more.
    const openings = (count: number) =>
      loaded({ devices: 0, links: 0, dashboards: count }, server, () => rested(server, restMs))
    await openings(sockets / 10)
    const before = await rested(server, restMs)
    const open = await openings(sockets)
    return {
      heapBytes: (open.heapBytes - before.heapBytes) / sockets,
      residentBytes: (open.residentBytes - before.residentBytes) / sockets,
      youngBytes: (open.youngBytes - before.youngBytes) / sockets,
      residentBefore: before.residentBytes / 2 ** 20,
    }
  } finally {
    await server.stop()
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

const perDevice = 'a device of 10 FLOAT properties, of 100 000 behind 50 links'
const perDashboard = 'an idle dashboard, of 5 000'

export const memory: Question = {
  rounds: 3,
  figures: {
    heapBytes: { title: 'heap, B', digits: 0 },
    residentBytes: { title: 'RSS, B', digits: 0 },
    youngBytes: { title: "room of V8's young generation beside it, B", digits: 0 },
    forgottenBytes: { title: 'heap once forgotten, B', digits: 0 },
    residentBefore: { title: 'RSS before, MiB', digits: 0 },
  },
  cases: [
    { name: perDevice, variants: [{ name: 'process', measure: devices }] },
    { name: perDashboard, variants: [{ name: 'process', measure: dashboards }] },
  ],
  targets: [
    { case: perDevice, variant: 'process', figure: 'heapBytes', atMost: 1024 },
    { case: perDevice, variant: 'process', figure: 'residentBytes', atMost: 1536 },
    { case: perDevice, variant: 'process', figure: 'forgottenBytes', atMost: 32 },
    { case: perDashboard, variant: 'process', figure: 'residentBytes', atMost: 4096 },
  ],
}
