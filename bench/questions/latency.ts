// Answers: how long a change takes from its device to a dashboard, and to its acknowledgement, at 10, 30, 50 and 70 % of what the server takes at full speed; counted from when the frame was due, so that a stall costs all who waited for it. Does not count: the network, DURABILITY=disk (see ingest), frames of many changes, many dashboards. The load sends what is due every 5 ms, as gateways do: half of that is its own.
import type { Case, Figures, Question, Round } from '#bench/harness/question'
import { ours } from '#bench/harness/servers'
import { underLoad } from '#bench/harness/under-load'
import type { PhaseResult } from '#bench/load/ingest'

const load = { devices: 10_000, links: 50, window: 64, changes: 1, properties: 10, prefix: 'LOAD', dashboards: 1 }
const start = ours({ DURABILITY: 'process' })

const variant = 'process'
const fullSpeed = 'full speed'
const half = '50 %'
const parts: Readonly<Record<string, number>> = { '10 %': 0.1, '30 %': 0.3, [half]: 0.5, '70 %': 0.7 }

function measured(round: Round, rate?: number): Promise<PhaseResult> {
  const times = round.isQuick ? { warmupMs: 300, measuredMs: 500 } : { warmupMs: 2_000, measuredMs: 8_000 }
  const phase = { ...times, ...(rate !== undefined && { rate }) }
  return underLoad(start, 'load/ingest', load, (run) => run<PhaseResult>(phase))
}

function figuresOf({ seconds, frames, serverCpuSeconds, loadCpuSeconds }: PhaseResult): Figures {
  return {
    framesPerSecond: frames / seconds,
    serverCpu: (serverCpuSeconds / seconds) * 100,
    loadCpu: (loadCpuSeconds / seconds) * 100,
  }
}

const fastest: Case = {
  name: fullSpeed,
  variants: [{ name: variant, measure: async (round) => figuresOf(await measured(round)) }],
}

function paced(name: string, part: number): Case {
  return {
    name,
    variants: [
      {
        name: variant,
        async measure(round) {
          const rate = round.earlier(fullSpeed, variant, 'framesPerSecond') * part
          const result = await measured(round, rate)
          const { delivery, acknowledgement } = result
          return {
            ...figuresOf(result),
            heardP50: delivery.p50,
            heardP99: delivery.p99,
            heardP999: delivery.p999,
            ackP50: acknowledgement.p50,
            ackP99: acknowledgement.p99,
            ackP999: acknowledgement.p999,
          }
        },
      },
    ],
  }
}

export const latency: Question = {
  figures: {
    framesPerSecond: { title: 'frames/s', digits: 0, isOfLoad: true },
    heardP50: { title: 'heard p50, ms', digits: 1, isOfLoad: true },
    heardP99: { title: 'heard p99, ms', digits: 1, isOfLoad: true },
    heardP999: { title: 'heard p99.9, ms', digits: 1, isOfLoad: true },
    ackP50: { title: 'acknowledged p50, ms', digits: 1, isOfLoad: true },
    ackP99: { title: 'acknowledged p99, ms', digits: 1, isOfLoad: true },
    ackP999: { title: 'acknowledged p99.9, ms', digits: 1, isOfLoad: true },
    serverCpu: { title: 'server CPU, %', digits: 0 },
    loadCpu: { title: 'load CPU, %', digits: 0 },
  },
  cases: [fastest, ...Object.entries(parts).map(([name, part]) => paced(name, part))],
  targets: [{ case: half, variant, figure: 'heardP99', atMost: 20 }],
}
