// Answers: how long a change takes from its device to a dashboard, and to its acknowledgement, at 10, 30, 50 and 70 % of the maximum throughput; counted from the due time of the frame, so that a stall affects all frames that waited for it. Does not count: the network, DURABILITY=disk, frames of many changes, many dashboards. The load sends due frames every 5 ms, like gateways: half of that is its own delay.

import type { Benchmark, Case, Round } from '#bench/harness/benchmark'
import { costsOf, formsOf, latenciesOf } from '#bench/harness/load-figures'
import { standardLoad, timesOf, underLoad } from '#bench/harness/running-load'
import { ownServer } from '#bench/harness/servers'

const variant = 'process'
const half = '50 %'
const parts: Readonly<Record<string, number>> = { '10 %': 0.1, '30 %': 0.3, [half]: 0.5, '70 %': 0.7 }

function measured(round: Round, pace?: { rate: number }) {
  const phase = { ...timesOf(round, 2_000, 8_000), ...pace }
  return underLoad(ownServer({ DURABILITY: 'process' }), standardLoad, ({ run }) => run(phase))
}

/** The maximum throughput of the standard load. Other cases measure at a part of it. */
export const fullSpeed: Case = {
  name: 'full speed',
  variants: [{ name: variant, measure: async (round) => costsOf(await measured(round)) }],
}

export function partOfFullSpeed(round: Round, part: number): number {
  return round.earlier(fullSpeed.name, variant, 'framesPerSecond') * part
}

function paced(name: string, part: number): Case {
  const measure = async (round: Round) => {
    const result = await measured(round, { rate: partOfFullSpeed(round, part) })
    return { ...costsOf(result), ...latenciesOf(result) }
  }
  return { name, variants: [{ name: variant, measure }] }
}

export const latency: Benchmark = {
  figures: formsOf(
    ...(['framesPerSecond', 'eventP50', 'eventP99', 'eventP999'] as const),
    ...(['ackP50', 'ackP99', 'ackP999', 'serverCpu', 'loadCpu'] as const),
  ),
  cases: [fullSpeed, ...Object.entries(parts).map(([name, part]) => paced(name, part))],
  targets: [{ case: half, variant, figure: 'eventP99', atMost: 20 }],
}
