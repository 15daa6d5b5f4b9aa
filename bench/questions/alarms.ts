// Answers: what alarms cost a change on its way: 1 000 of them, each over 100 of 10 000 devices, so that one reads each property that changes, against the same without alarms: alarms that are never active (quiet), that come to be active or cease once in 100 changes (changing), and that mean other devices (elsewhere). Every such turn is an event, and all are counted. Does not count: making and changing alarms and sweeping devices after it, groups, alarms that must hold for a while.
import type { Case, Figures, Question, Round, Target } from '#bench/harness/question'
import { ours } from '#bench/harness/servers'
import { underLoad } from '#bench/harness/under-load'
import type { AlarmManner } from '#bench/load/alarms'
import type { PhaseResult, PhaseSpec } from '#bench/load/ingest'

const fleet = { devices: 10_000, links: 50, window: 64, properties: 10, prefix: 'LOAD', dashboards: 1 }
const start = ours({ DURABILITY: 'process' })

const without = 'without'
const manners: readonly AlarmManner[] = ['quiet', 'changing', 'elsewhere']

async function measured(variant: string, changes: number, round: Round, pace?: { rate: number }): Promise<PhaseResult> {
  const times = round.isQuick ? { warmupMs: 300, measuredMs: 500 } : { warmupMs: 2_000, measuredMs: 5_000 }
  const devices = round.isQuick ? fleet.devices / 10 : fleet.devices
  const spec = { ...fleet, devices, changes, ...(variant !== without && { alarms: variant }) }
  const phase: PhaseSpec = { ...times, ...pace }
  return underLoad(start, 'load/ingest', spec, (run) => run<PhaseResult>(phase))
}

function costs({ seconds, frames, changes, alarmTurns, serverCpuSeconds, loadCpuSeconds }: PhaseResult): Figures {
  return {
    changesPerSecond: changes / seconds,
    changesPerCpuSecond: changes / serverCpuSeconds,
    serverCpuPerChange: (serverCpuSeconds / changes) * 1e6,
    framesPerSecond: frames / seconds,
    turnsPerSecond: alarmTurns / seconds,
    serverCpu: (serverCpuSeconds / seconds) * 100,
    loadCpu: (loadCpuSeconds / seconds) * 100,
  }
}

function fullSpeed(name: string, changes: number): Case {
  return {
    name,
    baseline: without,
    variants: [without, ...manners].map((variant) => ({
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
      return { ...costs(result), ackP99: result.acknowledgement.p99, heardP99: result.delivery.p99 }
    },
  })),
}

function target(name: string, variant: AlarmManner, atLeast: number): Target {
  const whenLoadIsFull = 'changesPerCpuSecond'
  return { case: name, variant, figure: 'changesPerSecond', whenLoadIsFull, isRatio: true, atLeast }
}

export const alarms: Question = {
  figures: {
    changesPerSecond: { title: 'changes/s', digits: 0, isCompared: true, isOfLoad: true },
    changesPerCpuSecond: { title: 'changes per second of server CPU', digits: 0, isCompared: true },
    serverCpuPerChange: { title: 'server CPU, µs/change', digits: 2, isCompared: true },
    framesPerSecond: { title: 'frames/s', digits: 0, isOfLoad: true },
    turnsPerSecond: { title: 'alarms turned/s', digits: 0, isOfLoad: true },
    serverCpu: { title: 'server CPU, %', digits: 0 },
    loadCpu: { title: 'load CPU, %', digits: 0 },
    ackP99: { title: 'acknowledged p99, ms', digits: 1, isOfLoad: true },
    heardP99: { title: 'heard p99, ms', digits: 1, isOfLoad: true },
  },
  cases: [fullSpeed(ones, 1), fullSpeed(tens, 10), halfLoad],
  targets: [ones, tens].flatMap((name) => [
    target(name, 'quiet', 0.8),
    target(name, 'changing', 0.8),
    target(name, 'elsewhere', 0.97),
  ]),
}
