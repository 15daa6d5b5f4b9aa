import { type FigureForm, type Figures, loadFigure } from '#bench/harness/benchmark'
import { allowedMs, spreadOf } from '#bench/harness/statistics'
import type { PhaseResult } from '#bench/load/generator'
import type { CpuUse } from '#bench/process-usage'

/** Figures that several benchmarks share, with their titles. */
const forms = {
  changesPerSecond: { title: 'changes/s', digits: 0, isCompared: true, isOfLoad: true },
  changesPerCpuSecond: { title: 'changes per second of server CPU', digits: 0, isCompared: true },
  framesPerSecond: { title: 'frames/s', digits: 0, isOfLoad: true },
  serverCpuPerChange: { title: 'server CPU, µs/change', digits: 2, isCompared: true },
  deliveriesPerSecond: { title: 'deliveries/s', digits: 0, isCompared: true, isOfLoad: true },
  deliveriesPerCpuSecond: { title: 'deliveries per second of server CPU', digits: 0, isCompared: true },
  eventP50Before: { title: 'event p50 without, ms', digits: 1, isOfLoad: true },
  eventP99Before: { title: 'event p99 without, ms', digits: 1, isOfLoad: true },
  eventP50: { title: 'event p50, ms', digits: 1, isOfLoad: true },
  eventP99: { title: 'event p99, ms', digits: 1, isOfLoad: true },
  eventP999: { title: 'event p99.9, ms', digits: 1, isOfLoad: true },
  eventP99Most: { title: 'event p99 of the worst window, ms', digits: 1, isOfLoad: true },
  ofLimit: { title: 'event p99 ÷ its limit', digits: 2, isOfLoad: true },
  ackP50: { title: 'acknowledged p50, ms', digits: 1, isOfLoad: true },
  ackP99: { title: 'acknowledged p99, ms', digits: 1, isOfLoad: true },
  ackP999: { title: 'acknowledged p99.9, ms', digits: 1, isOfLoad: true },
  serverCpu: { title: 'server CPU, %', digits: 0 },
  [loadFigure]: { title: 'load CPU, %', digits: 0 },
} satisfies Readonly<Record<string, FigureForm>>

/** The forms of some figures, in the order of the columns. */
export function formsOf(...names: readonly (keyof typeof forms)[]): Readonly<Record<string, FigureForm>> {
  return Object.fromEntries(names.map((name) => [name, forms[name]]))
}

export const eventLatencyForms = formsOf(
  ...(['eventP50Before', 'eventP99Before', 'eventP50', 'eventP99', 'eventP99Most', 'ofLimit'] as const),
)

/** The CPU of the server and of the load, in per cent of a core. */
export function cpuOf({ seconds, serverCpuSeconds, loadCpuSeconds }: CpuUse): Figures {
  return { serverCpu: (serverCpuSeconds / seconds) * 100, [loadFigure]: (loadCpuSeconds / seconds) * 100 }
}

const summed = ['seconds', 'serverCpuSeconds', 'loadCpuSeconds', 'changes', 'frames', 'deliveries'] as const

export function costsOf(...phases: readonly Pick<PhaseResult, (typeof summed)[number]>[]): Figures {
  const sumOf = (figure: (typeof summed)[number]) => phases.reduce((sum, phase) => sum + phase[figure], 0)
  const [seconds, server, load, changes, frames, deliveries] = summed.map(sumOf) as [
    ...[number, number, number, number, number, number],
  ]
  return {
    changesPerSecond: changes / seconds,
    changesPerCpuSecond: changes / server,
    framesPerSecond: frames / seconds,
    serverCpuPerChange: (server / changes) * 1e6,
    deliveriesPerSecond: deliveries / seconds,
    deliveriesPerCpuSecond: deliveries / server,
    serverCpu: (server / seconds) * 100,
    [loadFigure]: (load / seconds) * 100,
  }
}

export function latenciesOf({ delivery, acknowledgement }: PhaseResult): Figures {
  return {
    eventP50: delivery.p50,
    eventP99: delivery.p99,
    eventP999: delivery.p999,
    ackP50: acknowledgement.p50,
    ackP99: acknowledgement.p99,
    ackP999: acknowledgement.p999,
  }
}

/**
 * Compares the latencies of events during other work with those without it, in short windows. Other guests of the
 * machine disturb some windows; the median ignores those.
 */
export function eventLatencies(without: readonly PhaseResult[], during: readonly PhaseResult[]): Figures {
  const median = (windows: readonly PhaseResult[], of: 'p50' | 'p99') =>
    spreadOf(windows.map(({ delivery }) => delivery[of])).median
  const eventP99Before = median(without, 'p99')
  const eventP99 = median(during, 'p99')
  return {
    eventP50Before: median(without, 'p50'),
    eventP99Before,
    eventP50: median(during, 'p50'),
    eventP99,
    eventP99Most: spreadOf(during.map(({ delivery }) => delivery.p99)).max,
    ofLimit: eventP99 / allowedMs(eventP99Before),
  }
}
