// Answers: how many events a second every one of 1 to 5 000 dashboards hears, all of them drained before the clock stops, against a loop that publishes the same bytes and does nothing else (bench/bare/fanout.ts): by our hub alone (bench/alone/hub.ts), and all the way from a device. Does not count: connecting, slow dashboards, filters and scopes, catching up.
import type { Case, Figures, Question, Target } from '#bench/harness/question'
import { alone, bare, ours, type StartServer } from '#bench/harness/servers'
import { underLoad } from '#bench/harness/under-load'
import type { FanoutPhase, FanoutResult } from '#bench/load/fanout'

/** How far ahead of the slowest dashboard: enough to keep the server busy, and some kilobytes for each socket. */
const eventsAhead: Readonly<Record<number, number>> = { 1: 512, 100: 512, 1000: 128, 5000: 64 }

const starts: Readonly<Record<string, StartServer>> = {
  bare: bare('fanout'),
  hub: alone('hub'),
  link: ours({ DURABILITY: 'process' }),
}

async function measured(variant: string, dashboards: number, phase: FanoutPhase): Promise<Figures> {
  const spec = { dashboards, eventsMax: eventsAhead[dashboards], isFleet: variant === 'link' }
  const result = await underLoad(starts[variant] as StartServer, 'load/fanout', spec, (run) => run<FanoutResult>(phase))
  const { seconds, events, deliveries, serverCpuSeconds, loadCpuSeconds } = result
  return {
    deliveriesPerSecond: deliveries / seconds,
    eventsPerSecond: events / seconds,
    serverCpuPerDelivery: (serverCpuSeconds / deliveries) * 1e6,
    serverCpu: (serverCpuSeconds / seconds) * 100,
    loadCpu: (loadCpuSeconds / seconds) * 100,
  }
}

const nameOf = (dashboards: number): string => `${dashboards.toLocaleString('en').replace(',', ' ')} dashboards`

function caseOf(dashboards: number): Case {
  return {
    name: nameOf(dashboards),
    baseline: 'bare',
    variants: Object.keys(starts).map((name) => ({
      name,
      measure: ({ isQuick }) =>
        measured(
          name,
          dashboards,
          isQuick ? { warmupMs: 300, measuredMs: 500 } : { warmupMs: 1_500, measuredMs: 4_000 },
        ),
    })),
  }
}

export const fanout: Question = {
  figures: {
    deliveriesPerSecond: { title: 'deliveries/s', digits: 0, isCompared: true },
    eventsPerSecond: { title: 'events/s', digits: 0 },
    serverCpuPerDelivery: { title: 'server CPU, µs/delivery', digits: 3, isCompared: true },
    serverCpu: { title: 'server CPU, %', digits: 0 },
    loadCpu: { title: 'load CPU, %', digits: 0 },
  },
  cases: [1, 100, 1_000, 5_000].map(caseOf),
  targets: [
    target(100, 'hub', 0.9),
    target(1_000, 'hub', 0.9),
    target(5_000, 'hub', 0.9),
    target(100, 'link', 0.65),
    target(1_000, 'link', 0.9),
    target(5_000, 'link', 0.9),
  ],
}

function target(dashboards: number, variant: string, atLeast: number): Target {
  return { case: nameOf(dashboards), variant, figure: 'deliveriesPerSecond', isRatio: true, atLeast }
}
