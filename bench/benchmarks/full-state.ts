// Answers: how fast a client reads the full state at its maximum speed. Does not count: devices that are only on disk after an eviction, filters, pages, the client's own parsing, the delay of events to others.

import type { Benchmark, Case, Figures, Round } from '#bench/harness/benchmark'
import { cpuOf, formsOf } from '#bench/harness/load-figures'
import { runUntilReported, standardLoad, started, withLoad } from '#bench/harness/running-load'
import { ownServer, type RunningServer } from '#bench/harness/servers'
import { readRepeatedly } from '#bench/load/reader'

const fleet = { ...standardLoad, changes: 10, dashboards: 0 }
const path = '/api/v1/devices?depth=2'
const megabyte = 1e6

/** Twice: the first reads are the warm-up. */
async function warmReads(server: RunningServer, { isQuick }: Round): Promise<Figures> {
  await readRepeatedly(server, path, isQuick ? 200 : 1_500)
  const read = await readRepeatedly(server, path, isQuick ? 500 : 4_000)
  const { seconds, reads, serverCpuSeconds } = read
  const megabytes = read.bytes / megabyte
  return {
    megabytesPerSecond: megabytes / seconds,
    readsPerSecond: reads / seconds,
    megabytesPerRead: megabytes / reads,
    serverCpuPerMegabyte: (serverCpuSeconds / megabytes) * 1000,
    ...cpuOf(read),
  }
}

function speedOf([size, devices]: readonly [string, number]): Case {
  const measure = (round: Round) =>
    started(ownServer(), (server) =>
      withLoad(server, { ...fleet, devices }, async (load) => {
        await runUntilReported(load, { warmupMs: 0, measuredMs: 1_000 })
        return await warmReads(server, round)
      }),
    )
  return { name: `${size} devices of 10 properties`, variants: [{ name: 'process', measure }] }
}

export const fullState: Benchmark = {
  rounds: 3,
  figures: {
    megabytesPerSecond: { title: 'MB/s', digits: 1, isOfLoad: true },
    readsPerSecond: { title: 'reads/s', digits: 2, isOfLoad: true },
    megabytesPerRead: { title: 'MB/read', digits: 3 },
    serverCpuPerMegabyte: { title: 'server CPU, ms/MB', digits: 2 },
    ...formsOf('loadCpu'),
  },
  cases: Object.entries({ '1 000': 1_000, '10 000': 10_000, '100 000': 100_000 }).map(speedOf),
  targets: [],
}
