// Answers: how many events a second each of 1 to 5 000 dashboards receives, all of them drained before the clock stops, compared with a loop that publishes the same bytes and does nothing more (bench/bare/fanout.ts), the whole way from a device. Does not count: connecting, slow dashboards, filters and scopes, catching up.

import type { Benchmark, Case, Figures, Round, Target } from '#bench/harness/benchmark'
import { costsOf, formsOf } from '#bench/harness/load-figures'
import { standardLoad, underLoad } from '#bench/harness/running-load'
import { bare, ours, type StartServer } from '#bench/harness/servers'
import { leadLimits } from '#bench/load/lead'

const starts: Readonly<Record<string, StartServer>> = {
  bare: bare('fanout'),
  link: ours({ DURABILITY: 'process' }),
}

async function measured(variant: string, dashboards: number, { isQuick }: Round): Promise<Figures> {
  const lead = { ...leadLimits(dashboards), isCredit: variant !== 'link' }
  const times = isQuick ? { warmupMs: 300, measuredMs: 500 } : { warmupMs: 1_000, measuredMs: 2_500 }
  const load = { ...standardLoad, properties: 1, dashboards, lead }
  const result = await underLoad(starts[variant] as StartServer, load, ({ run }) => run(times))
  const { seconds, deliveries, serverCpuSeconds } = result
  return {
    ...costsOf(result),
    eventsPerSecond: deliveries / dashboards / seconds,
    serverCpuPerDelivery: (serverCpuSeconds / deliveries) * 1e6,
  }
}

const one = '1 dashboard'
const hundred = '100 dashboards'
const thousand = '1 000 dashboards'
const fiveThousand = '5 000 dashboards'

function caseOf(name: string, dashboards: number): Case {
  const variants = Object.keys(starts).map((variant) => ({
    name: variant,
    measure: (round: Round) => measured(variant, dashboards, round),
  }))
  return { name, baseline: 'bare', variants }
}

function target(name: string, variant: string, atLeast: number): Target {
  const whenLoadIsFull = 'deliveriesPerCpuSecond'
  return { case: name, variant, figure: 'deliveriesPerSecond', whenLoadIsFull, isRatio: true, atLeast }
}

export const fanout: Benchmark = {
  figures: {
    ...formsOf('deliveriesPerSecond'),
    eventsPerSecond: { title: 'events/s', digits: 0, isOfLoad: true },
    ...formsOf('deliveriesPerCpuSecond'),
    serverCpuPerDelivery: { title: 'server CPU, µs/delivery', digits: 3 },
    ...formsOf('serverCpu', 'loadCpu'),
  },
  cases: [caseOf(one, 1), caseOf(hundred, 100), caseOf(thousand, 1_000), caseOf(fiveThousand, 5_000)],
  targets: [target(hundred, 'link', 0.65), target(thousand, 'link', 0.9), target(fiveThousand, 'link', 0.9)],
}
