// Answers: how much memory the server needs for each connected device of 10 FLOAT properties that reports, for each device that it has evicted, and for each idle dashboard. Does not count: memory that is bounded for any number of devices and was filled before (the stream's ring, LevelDB's buffers and cache), nor V8's young generation, which is bounded too and empty by then (the report shows its size); in heap figures ArrayBuffers, which are that ring; files mapped from the page cache, which RSS would include; the kernel's part of a socket.

import type { Benchmark, Figures, Round } from '#bench/harness/benchmark'
import type { MemoryUse } from '#bench/harness/memory-probe'
import { runUntilReported, standardLoad, started, withLoad } from '#bench/harness/running-load'
import { type ProbedServer, startProbed } from '#bench/harness/servers'
import { usageOf } from '#bench/process-usage'
import { sleep } from '#bench/time'

const fleet = { ...standardLoad, changes: 10, dashboards: 0 }
/** `restMs`: more than five seconds, because V8 shrinks its young generation by the allocations of this time. */
function sizesOf({ isQuick }: Round) {
  return isQuick
    ? { devices: 5_000, sockets: 500, fillMs: 500, reportMs: 500, restMs: 0 }
    : { devices: 100_000, sockets: 5_000, fillMs: 12_000, reportMs: 8_000, restMs: 6_000 }
}

/** Longer than the idle time after which an activation is evicted. */
const idleMs = 6 * 60_000
/** Eviction visits all activations, at some thousand a second. */
const forgetMsMax = 90_000
const pollEveryMs = 3_000
/**
 * A server is idle while it uses less than this share of a core: timers and the search for idle activations use some.
 */
const idleShare = 0.05

/**
 * Called after all links closed: waits until the server is idle, moves its clock past the idle time of activations, and
 * waits until its heap no longer shrinks.
 */
async function forgotten(server: ProbedServer): Promise<MemoryUse> {
  let before = usageOf(server.processId)
  await untilInRow(3, pollEveryMs / 3, async () => {
    const now = usageOf(server.processId)
    const share = ((now.cpuSeconds - before.cpuSeconds) * 1000) / (pollEveryMs / 3)
    before = now
    return share < idleShare
  })
  await server.pass(idleMs)
  let use = await server.memory()
  await untilInRow(2, pollEveryMs, async () => {
    const now = await server.memory()
    const isSteady = now.heapBytes > use.heapBytes * 0.995
    use = now
    return isSteady
  })
  return use
}

/** Waits until `isTrue` returned true `times` times in a row. */
async function untilInRow(times: number, pollMs: number, isTrue: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + forgetMsMax
  for (let inRow = 0; inRow < times; ) {
    if (performance.now() > end) throw new Error('the server does not come to rest')
    await sleep(pollMs)
    inRow = (await isTrue()) ? inRow + 1 : 0
  }
}

/** A few devices send for long enough to fill all memory with a limit, and are then evicted. */
async function fill(server: ProbedServer, milliseconds: number): Promise<MemoryUse> {
  const few = { ...fleet, devices: 1_000, prefix: 'FILL' }
  await withLoad(server, few, ({ run }) => run({ warmupMs: 0, measuredMs: milliseconds }))
  return await forgotten(server)
}

/**
 * Collects before the pause, too: V8 computes the allocation rate over all the time since the last collection.
 */
async function rested(server: ProbedServer, restMs: number): Promise<MemoryUse> {
  await server.memory()
  await sleep(restMs)
  return await server.memory()
}

function devices(round: Round): Promise<Figures> {
  const { devices, fillMs, reportMs, restMs } = sizesOf(round)
  return started(startProbed, async (server) => {
    const before = await fill(server, fillMs)
    const hot = await withLoad(server, { ...fleet, devices }, async (load) => {
      await runUntilReported(load, { warmupMs: 0, measuredMs: reportMs })
      return await rested(server, restMs)
    })
    const after = await forgotten(server)
    return { ...grown(before, hot, devices), forgottenBytes: (after.heapBytes - before.heapBytes) / devices }
  })
}

function dashboards(round: Round): Promise<Figures> {
  const { sockets, restMs } = sizesOf(round)
  return started(startProbed, async (server) => {
    const opened = (count: number) =>
      withLoad(server, { ...fleet, devices: 0, links: 0, dashboards: count }, () => rested(server, restMs))
    await opened(sockets / 10)
    const before = await rested(server, restMs)
    return grown(before, await opened(sockets), sockets)
  })
}

function grown(before: MemoryUse, after: MemoryUse, count: number): Figures {
  return {
    heapBytes: (after.heapBytes - before.heapBytes) / count,
    residentBytes: (after.residentBytes - before.residentBytes) / count,
    youngBytes: (after.youngBytes - before.youngBytes) / count,
    residentBefore: before.residentBytes / 2 ** 20,
  }
}

const perDevice = 'a device of 10 FLOAT properties, of 100 000 behind 50 links'
const perDashboard = 'an idle dashboard, of 5 000'

export const memory: Benchmark = {
  rounds: 3,
  figures: {
    heapBytes: { title: 'heap, B', digits: 0 },
    residentBytes: { title: 'RSS, B', digits: 0 },
    youngBytes: { title: "size of V8's young generation, B", digits: 0 },
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
