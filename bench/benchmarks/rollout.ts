// Answers: how much a rollout delays changes: 10 000 devices that take an image of 64 KiB, and 100 that take one of 16 MiB, each while another fleet reports at 30 % of the maximum throughput; the p99 of those reports at a dashboard, over windows of four seconds before and during the rollout, and how long the rollout takes. The p99 may double or grow by 10 ms, whichever is more: at this limit `event p99 ÷ its limit` is 1. The devices count simultaneous downloads. Does not count: the network, slow devices, installation on devices.

import { fullSpeed, partOfFullSpeed } from '#bench/benchmarks/latency'
import type { Benchmark, Case, Figures, Round, Target } from '#bench/harness/benchmark'
import { costsOf, eventLatencies, eventLatencyForms, formsOf } from '#bench/harness/load-figures'
import { type RunningLoad, standardLoad, underLoad, withRemote } from '#bench/harness/running-load'
import { ownServer } from '#bench/harness/servers'
import type { PhaseResult } from '#bench/load/generator'
import type { RolloutResult } from '#bench/load/rollout'

const start = ownServer({ DURABILITY: 'process' })
const variant = 'process'
const part = 0.3

interface RolloutCase {
  readonly name: string
  readonly devices: number
  readonly links: number
  readonly imageBytes: number
}

const small: RolloutCase = { name: '10 000 devices, 64 KiB', devices: 10_000, links: 100, imageBytes: 2 ** 16 }
const large: RolloutCase = { name: '100 devices, 16 MiB', devices: 100, links: 100, imageBytes: 2 ** 24 }
const quick = { devices: 200, links: 10, imageBytes: 2 ** 16 }

function duringRollout(asked: RolloutCase): Case {
  const measure = (round: Round) => {
    const rollout = round.isQuick ? { ...asked, ...quick } : asked
    return underLoad(start, { ...standardLoad, hasOtherEvents: true }, (load, server) =>
      withRemote('load/rollout', async (updated) => {
        await updated.ask('open', { ...rollout, ...server })
        return await measured(load, () => updated.ask('run'), partOfFullSpeed(round, part), round)
      }),
    )
  }
  return { name: asked.name, variants: [{ name: variant, measure }] }
}

async function measured(
  { run }: RunningLoad,
  rollOut: () => Promise<RolloutResult>,
  rate: number,
  { isQuick }: Round,
): Promise<Figures> {
  const [windows, warmupMs, measuredMs] = isQuick ? [1, 100, 200] : [9, 500, 4_000]
  const inWindows = async (count: number) => {
    const results: PhaseResult[] = []
    while (results.length < count) results.push(await run({ warmupMs, measuredMs, rate }))
    return results
  }
  await run({ warmupMs: isQuick ? 0 : 2_000, measuredMs: 100, rate })
  const before = await inWindows(Math.ceil(windows / 2))
  const startedAt = performance.now()
  const rollingOut = rollOut()
  const [rollout, { during, seconds }] = await Promise.all([
    rollingOut,
    inWindows(windows).then((during) => ({ during, seconds: (performance.now() - startedAt) / 1000 })),
  ])
  if (!isQuick && rollout.seconds < seconds) {
    throw new Error(`the rollout was over in ${rollout.seconds} s, before the other load was measured`)
  }
  return {
    ...eventLatencies(before, during),
    ...costsOf(...during),
    serverCpuBefore: costsOf(...before).serverCpu as number,
    rolloutSeconds: rollout.seconds,
    mebibytesPerSecond: rollout.bytes / rollout.seconds / 2 ** 20,
    downloadsAtOnce: rollout.downloadsAtOnceMax,
    updatedCpu: (rollout.loadCpuSeconds / rollout.seconds) * 100,
  }
}

function targets(name: string): readonly Target[] {
  return [
    { case: name, variant, figure: 'ofLimit', atMost: 1 },
    { case: name, variant, figure: 'downloadsAtOnce', atMost: 64 },
  ]
}

export const rollout: Benchmark = {
  figures: {
    ...formsOf('framesPerSecond'),
    rolloutSeconds: { title: 'rollout, s', digits: 1 },
    mebibytesPerSecond: { title: 'MiB/s', digits: 1 },
    downloadsAtOnce: { title: 'downloads at once', digits: 0 },
    ...eventLatencyForms,
    serverCpuBefore: { title: 'server CPU before, %', digits: 0 },
    ...formsOf('serverCpu', 'loadCpu'),
    updatedCpu: { title: 'CPU of updated devices, %', digits: 0 },
  },
  cases: [fullSpeed, duringRollout(small), duringRollout(large)],
  targets: [small, large].flatMap(({ name }) => targets(name)),
  rounds: 3,
}
