// Answers: how much alarms slow a change down: 1 000 alarms, each over 100 of 10 000 devices, so that one reads each property that changes, compared with none: alarms that are never active (quiet), that change state once in 100 changes (changing), and that cover other devices (elsewhere). Every state change is an event, and all are counted. Does not count: creating and changing alarms and the evaluation of devices after it, groups, alarms with a delay.

import type { Benchmark, Case, Round, Target } from '#bench/harness/benchmark'
import { costsOf, formsOf, latenciesOf } from '#bench/harness/load-figures'
import { standardLoad, timesOf, underLoad } from '#bench/harness/running-load'
import { ours } from '#bench/harness/servers'
import type { AlarmMode } from '#bench/load/alarms'
import type { PhaseResult } from '#bench/load/generator'

const without = 'without'
const modes = ['quiet', 'changing', 'elsewhere'] as const

function measured(variant: string, changes: number, round: Round, pace?: { rate: number }): Promise<PhaseResult> {
  const devices = round.isQuick ? standardLoad.devices / 10 : standardLoad.devices
  const alarms = modes.find((mode) => mode === variant)
  const load = { ...standardLoad, devices, changes, ...(alarms && { alarms }) }
  return underLoad(ours({ DURABILITY: 'process' }), load, ({ run }) =>
    run({ ...timesOf(round, 2_000, 5_000), ...pace }),
  )
}

const costs = (result: PhaseResult) => ({
  ...costsOf(result),
  alarmChangesPerSecond: result.alarmChanges / result.seconds,
})

function fullSpeed(name: string, changes: number): Case {
  return {
    name,
    baseline: without,
    variants: [without, ...modes].map((variant) => ({
      name: variant,
      measure: async (round) => costs(await measured(variant, changes, round)),
    })),
  }
}

const ones = 'frames of 1 change'
const tens = 'frames of 10 changes'

const halfLoad: Case = {
  name: 'frames of 1 change, at half of what it takes without alarms',
  baseline: without,
  variants: [without, 'changing'].map((variant) => ({
    name: variant,
    async measure(round) {
      const rate = round.earlier(ones, without, 'framesPerSecond') / 2
      const result = await measured(variant, 1, round, { rate })
      return { ...costs(result), ...latenciesOf(result) }
    },
  })),
}

function target(name: string, variant: AlarmMode, atLeast: number): Target {
  const whenLoadIsFull = 'changesPerCpuSecond'
  return { case: name, variant, figure: 'changesPerSecond', whenLoadIsFull, isRatio: true, atLeast }
}

export const alarms: Benchmark = {
  figures: {
    ...formsOf('changesPerSecond', 'changesPerCpuSecond', 'serverCpuPerChange', 'framesPerSecond'),
    alarmChangesPerSecond: { title: 'alarms turned/s', digits: 0, isOfLoad: true },
    ...formsOf('serverCpu', 'loadCpu', 'ackP99', 'eventP99'),
  },
  cases: [fullSpeed(ones, 1), fullSpeed(tens, 10), halfLoad],
  targets: [ones, tens].flatMap((name) => [
    target(name, 'quiet', 0.8),
    target(name, 'changing', 0.8),
    target(name, 'elsewhere', 0.97),
  ]),
}
