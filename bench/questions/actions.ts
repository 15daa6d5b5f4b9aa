// Answers: how long one write for 10 000 linked devices that answer at once takes until the outcome of each is stored, and what CPU of the server each of them costs; and how much longer the changes of the same fleet, at 30 % of full speed, take to a dashboard while one such action follows the other. Does not count: devices that are slow, say no or are not there, what devices report when they have changed; the end is looked for every 100 ms.
import type { Figures, Question, Round, Variant } from '#bench/harness/question'
import { started, withActions, withFleet } from '#bench/harness/reading'
import { ours, type RunningServer } from '#bench/harness/servers'
import type { ActionsResult } from '#bench/load/actions'
import type { PhaseResult } from '#bench/load/ingest'
import { firstPropId } from '#bench/load/update-template'

const fleet = {
  ...{ devices: 10_000, links: 50, window: 64, changes: 1, properties: 10, dashboards: 1, prefix: 'LOAD' },
  isAnswering: true,
}
/** Of the one property of an answering fleet that can be changed. */
const propId = firstPropId + fleet.properties

function fleetOf({ isQuick }: Round): typeof fleet {
  return isQuick ? { ...fleet, devices: fleet.devices / 10, window: 8 } : fleet
}

function actionsFor(server: RunningServer, round: Round, milliseconds: number): Promise<ActionsResult> {
  const { devices, prefix } = fleetOf(round)
  return withActions(server, { devices, prefix, propId, milliseconds })
}

const alone = 'nothing else: 10 000 devices'
const others = 'others meanwhile: frames of 1 change, 30 % of full speed, to 1 dashboard'
const variant = 'actions'
const fullSpeed = 'full speed, no actions'
const quiet = 'no actions'
const part = 0.3

/** What an event's way may take while devices are asked: twice of what it takes without, or this much longer. */
const longerMsMax = 10

async function doneAlone(round: Round): Promise<Figures> {
  return started(ours(), (server) =>
    withFleet(server, fleetOf(round), async () => {
      // The first ones warm up.
      await actionsFor(server, round, round.isQuick ? 200 : 3_000)
      const result = await actionsFor(server, round, round.isQuick ? 500 : 8_000)
      const { actions, seconds, serverCpuSeconds, loadCpuSeconds } = result
      return {
        msToDone: (seconds / actions) * 1000,
        serverCpuPerDevice: (serverCpuSeconds / actions / fleetOf(round).devices) * 1e6,
        serverCpu: (serverCpuSeconds / seconds) * 100,
        loadCpu: (loadCpuSeconds / seconds) * 100,
      }
    }),
  )
}

function hearing(name: string, rateOf: (round: Round) => number | undefined, isActing: boolean): Variant {
  return {
    name,
    measure: (round) =>
      started(ours(), (server) =>
        withFleet(server, fleetOf(round), async (load) => {
          const times = round.isQuick ? { warmupMs: 300, measuredMs: 500 } : { warmupMs: 3_000, measuredMs: 8_000 }
          const rate = rateOf(round)
          const acting = isActing ? actionsFor(server, round, times.warmupMs + times.measuredMs) : undefined
          const [heard, acted] = await Promise.all([
            load.ask<PhaseResult>('run', { ...times, ...(rate !== undefined && { rate }) }),
            acting,
          ])
          return { ...wayOf(heard, rate !== undefined), ...(acted && ofActions(round, heard, acted)) }
        }),
      ),
  }
}

function wayOf(
  { frames, seconds, delivery, serverCpuSeconds, loadCpuSeconds }: PhaseResult,
  isPaced: boolean,
): Figures {
  return {
    framesPerSecond: frames / seconds,
    serverCpu: (serverCpuSeconds / seconds) * 100,
    loadCpu: (loadCpuSeconds / seconds) * 100,
    ...(isPaced && { heardP50: delivery.p50, heardP99: delivery.p99, heardP999: delivery.p999 }),
  }
}

function ofActions(round: Round, { delivery }: PhaseResult, { actions, seconds }: ActionsResult): Figures {
  const without = round.earlier(others, quiet, 'heardP99')
  return {
    msToDone: (seconds / actions) * 1000,
    ofLimit: delivery.p99 / Math.max(2 * without, without + longerMsMax),
  }
}

function pace(round: Round): number {
  return round.earlier(fullSpeed, quiet, 'framesPerSecond') * part
}

export const actions: Question = {
  rounds: 3,
  figures: {
    msToDone: { title: 'ms to done', digits: 0 },
    serverCpuPerDevice: { title: 'server CPU, µs/device', digits: 1 },
    framesPerSecond: { title: 'frames/s', digits: 0, isOfLoad: true },
    heardP50: { title: 'heard p50, ms', digits: 1 },
    heardP99: { title: 'heard p99, ms', digits: 1 },
    heardP999: { title: 'heard p99.9, ms', digits: 1 },
    ofLimit: { title: 'heard p99 ÷ what it may be', digits: 2 },
    serverCpu: { title: 'server CPU, %', digits: 0 },
    loadCpu: { title: 'load CPU, %', digits: 0 },
  },
  cases: [
    { name: alone, variants: [{ name: variant, measure: doneAlone }] },
    { name: fullSpeed, variants: [hearing(quiet, () => undefined, false)] },
    { name: others, variants: [hearing(quiet, pace, false), hearing(variant, pace, true)] },
  ],
  targets: [{ case: others, variant, figure: 'ofLimit', atMost: 1 }],
}
