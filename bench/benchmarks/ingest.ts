// Answers: how many changes a second are stored, acknowledged and received by one dashboard, each as its own event, compared with a loop that only decodes, stringifies, publishes and acknowledges (bench/bare/ingest.ts). Does not count: connecting, HELLO, reads, many dashboards (see growth), devices that come and go.

import { type Benchmark, type Case, type Round, variantsOf } from '#bench/harness/benchmark'
import { costsOf, formsOf } from '#bench/harness/load-figures'
import { standardLoad, timesOf, underLoad } from '#bench/harness/running-load'
import { listening, ownServer, type StartServer } from '#bench/harness/servers'
import type { PhaseResult } from '#bench/load/generator'

function measured(start: StartServer, changes: number, round: Round): Promise<PhaseResult> {
  // A quick round must also pass on a busy machine: its frames fit into the buffer of a dashboard.
  const size = round.isQuick ? { devices: standardLoad.devices / 10, window: 8 } : {}
  const load = { ...standardLoad, ...size, changes }
  return underLoad(start, load, ({ run }) => run(timesOf(round, 2_000, 5_000)))
}

const starts = {
  bare: listening('bare/ingest'),
  process: ownServer({ DURABILITY: 'process' }),
  disk: ownServer({ DURABILITY: 'disk' }),
} as const

function fullSpeed(name: string, changes: number): Case {
  return {
    name,
    baseline: 'bare',
    variants: variantsOf<StartServer>(starts, async (start, round) => costsOf(await measured(start, changes, round))),
  }
}

const ones = 'frames of 1 change'
const tens = 'frames of 10 changes'
export const ingest: Benchmark = {
  figures: formsOf('changesPerSecond', 'framesPerSecond', 'serverCpuPerChange', 'serverCpu', 'loadCpu'),
  cases: [fullSpeed(ones, 1), fullSpeed(tens, 10)],
  targets: [ones, tens].flatMap((name) => [
    { case: name, variant: 'process', figure: 'changesPerSecond', isRatio: true, atLeast: 0.7 },
    { case: name, variant: 'disk', figure: 'changesPerSecond', isRatio: true, atLeast: 0.55 },
  ]),
}
