// Answers: how fast a client reads the full state at its maximum speed, and how much fast and slow reads delay events to other clients. Does not count: devices that are only on disk after an eviction, filters, pages, the client's own parsing.

import type { Benchmark, Case, Figures, Round, Variant } from '#bench/harness/benchmark'
import { formsOf } from '#bench/harness/load-figures'
import { type RunningLoad, reported, standardLoad, started, withLoad, withRemote } from '#bench/harness/running-load'
import { placeOf } from '#bench/harness/server-target'
import { ours, type RunningServer } from '#bench/harness/servers'
import { allowedMs } from '#bench/harness/statistics'
import type { ReadersSpec, ReadResult } from '#bench/load/readers'

const fleet = { ...standardLoad, changes: 10, dashboards: 0 }
const path = '/api/v1/devices?depth=2'
const megabyte = 1e6
const report = { warmupMs: 0, measuredMs: 1_000 }

function readFor(server: RunningServer, milliseconds: number, spec: Partial<ReadersSpec> = {}): Promise<ReadResult> {
  return withRemote('load/readers', async (readers) => {
    await readers.ask('begin', { ...placeOf(server), path, readers: 1, ...spec })
    return await readers.ask<ReadResult>('measure', milliseconds)
  })
}

function speed({ seconds, reads, bytes, serverCpuSeconds, loadCpuSeconds }: ReadResult): Figures {
  return {
    megabytesPerSecond: bytes / megabyte / seconds,
    readsPerSecond: reads / seconds,
    megabytesPerRead: bytes / megabyte / reads,
    serverCpuPerMegabyte: (serverCpuSeconds / (bytes / megabyte)) * 1000,
    loadCpu: (loadCpuSeconds / seconds) * 100,
  }
}

/** Twice: the first reads are the warm-up. */
async function warmReads(server: RunningServer, { isQuick }: Round): Promise<Figures> {
  await readFor(server, isQuick ? 200 : 1_500)
  return speed(await readFor(server, isQuick ? 500 : 4_000))
}

function speedOf(devices: number): Case {
  return {
    name: namesOfSizes.get(devices) ?? '',
    variants: [
      {
        name: 'process',
        measure: (round) =>
          started(ours(), (server) =>
            withLoad(server, { ...fleet, devices }, async (load) => {
              await reported(load, report)
              return await warmReads(server, round)
            }),
          ),
      },
    ],
  }
}

const namesOfSizes = new Map([
  [1_000, '1 000 devices of 10 properties'],
  [10_000, '10 000 devices of 10 properties'],
  [100_000, '100 000 devices of 10 properties'],
])

const others = 'others meanwhile: 5 000 frames/s of 1 change to 1 dashboard'
const quiet = 'no reads'
const paced = { ...standardLoad, devices: 1_000, links: 10, prefix: 'OTHERS' }
const framesPerSecond = 5_000

function readVariant(name: string, readers: Partial<ReadersSpec> | undefined): Variant {
  return {
    name,
    measure: (round) =>
      started(ours(), (server) =>
        withLoad(server, fleet, async (load) => {
          await reported(load, report)
          return await withLoad(server, paced, (other) => measureEvents(server, other, round, readers))
        }),
      ),
  }
}

async function measureEvents(
  server: RunningServer,
  load: RunningLoad,
  round: Round,
  readers: Partial<ReadersSpec> | undefined,
): Promise<Figures> {
  const times = round.isQuick ? { warmupMs: 300, measuredMs: 500 } : { warmupMs: 2_000, measuredMs: 6_000 }
  const reading = readers && readFor(server, times.warmupMs + times.measuredMs, readers)
  const [{ delivery, serverCpuSeconds, seconds }, read] = await Promise.all([
    load.run({ ...times, rate: framesPerSecond }),
    reading,
  ])
  return {
    ...(read && { megabytesPerSecond: read.bytes / megabyte / read.seconds }),
    serverCpu: (serverCpuSeconds / seconds) * 100,
    eventP50: delivery.p50,
    eventP99: delivery.p99,
    ...(readers && { ofLimit: delivery.p99 / allowedMs(round.earlier(others, quiet, 'eventP99')) }),
  }
}

export const fullState: Benchmark = {
  rounds: 3,
  figures: {
    megabytesPerSecond: { title: 'MB/s', digits: 1, isOfLoad: true },
    readsPerSecond: { title: 'reads/s', digits: 2, isOfLoad: true },
    megabytesPerRead: { title: 'MB/read', digits: 3 },
    serverCpuPerMegabyte: { title: 'server CPU, ms/MB', digits: 2 },
    ...formsOf('loadCpu', 'serverCpu'),
    eventP50: { title: 'event p50, ms', digits: 1 },
    eventP99: { title: 'event p99, ms', digits: 1 },
    ofLimit: { title: 'event p99 ÷ its limit', digits: 2 },
  },
  cases: [
    ...[...namesOfSizes.keys()].map(speedOf),
    {
      name: others,
      variants: [
        readVariant(quiet, undefined),
        readVariant('4 fast readers', { readers: 4 }),
        readVariant('8 readers of 1 MB/s, 8 that stall', { readers: 16, bytesPerSecond: megabyte, stalling: 8 }),
      ],
    },
  ],
  targets: [
    { case: others, variant: '4 fast readers', figure: 'ofLimit', atMost: 1 },
    { case: others, variant: '8 readers of 1 MB/s, 8 that stall', figure: 'ofLimit', atMost: 1 },
  ],
}
