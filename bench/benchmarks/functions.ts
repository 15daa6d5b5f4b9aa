// Answers: how much a function over 10 000 devices with 1 000 subscribers costs each change that triggers it, compared with none, on two servers in alternating turns of some seconds: a function whose condition never holds (quiet), one that mails about a device once a minute (throttled), one that mails about every change (unthrottled), and one for other devices (elsewhere); how much of a storm of one minute is stored, and how many mails it causes, at 5 an hour for each user. Measured with IAM on, and with a mail server that accepts everything. Does not count: creating functions and subscriptions, alarms and statuses that trigger, mail servers that refuse or are slow, digests during other work.

import type { Benchmark, Case, Figures, Round, Target } from '#bench/harness/benchmark'
import { costsOf, formsOf } from '#bench/harness/load-figures'
import {
  createSubscribedFolder,
  type FunctionMode,
  mailsPerHourMax,
  type NotificationServer,
  type SubscribedFolder,
  watching,
  withNotifications,
} from '#bench/harness/notification-server'
import { type RunningLoad, standardLoad, started, withLoad } from '#bench/harness/running-load'
import type { RunningServer } from '#bench/harness/servers'
import { allowedMs, spreadOf } from '#bench/harness/statistics'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import type { PhaseResult } from '#bench/load/generator'
import { storedRequestsMax } from '#model/delivery'

const subscribers = 1_000
const quickDivisor = { devices: standardLoad.devices / 10, subscribers: 20 }

const without = 'without'
const modes: readonly FunctionMode[] = ['quiet', 'throttled', 'unthrottled', 'elsewhere']
const mailing: readonly FunctionMode[] = ['throttled', 'unthrottled']
type Variant = FunctionMode | typeof without

const ones = 'frames of 1 change'
const tens = 'frames of 10 changes'
const half = 'frames of 1 change, at half of what it takes without a function'
const storm = 'a minute of frames of 1 change, and the hour after'

const mailsMsMax = 180_000
const megabyte = 2 ** 20

/** Made once; each measurement has a copy of it. */
let left: SubscribedFolder | undefined

function notified<Result>(changes: number, use: (notified: NotificationServer) => Promise<Result>): Promise<Result> {
  if (!left) throw new Error('nothing was made to measure')
  return withNotifications(left, { ...standardLoad, changes }, use)
}

function withReports<Result>(
  server: RunningServer,
  changes: number,
  { isQuick }: Round,
  use: (run: RunningLoad['run']) => Promise<Result>,
): Promise<Result> {
  const devices = isQuick ? quickDivisor.devices : standardLoad.devices
  return withLoad(server, { ...standardLoad, devices, changes }, ({ run }) => use(run))
}

const modeOf = (variant: Variant) => (variant === without ? undefined : variant)

function fullSpeed(name: string, changes: number): Case {
  return {
    name,
    variants: modes.map((mode) => ({
      name: mode,
      measure: (round) => measureInTurns(mode, changes, round, comparedCosts),
    })),
  }
}

type TurnResults = readonly [readonly PhaseResult[], readonly PhaseResult[]]

/**
 * Two servers, the second one without a function, each with its own fleet: the speed of a machine with other guests
 * varies from minute to minute, so the servers are measured in turns and compared with the turns before and after.
 */
function measureInTurns(
  mode: FunctionMode,
  changes: number,
  round: Round,
  compare: (results: TurnResults) => Figures,
  pace?: { readonly rate: number },
): Promise<Figures> {
  const turns = round.isQuick
    ? { countEach: 1, phase: { warmupMs: 100, measuredMs: 300, ...pace } }
    : { countEach: 6, phase: { warmupMs: 400, measuredMs: 2_500, ...pace } }
  return notified(changes, (plain) =>
    notified(changes, ({ mails, start }) =>
      started(
        () => plain.start(undefined),
        (other) =>
          started(
            () => start(mode),
            async (server) => {
              const began = performance.now()
              const [figures, { waitingMost }] = await watching(server, () =>
                withReports(other, changes, round, (runOther) =>
                  withReports(server, changes, round, async (run) => {
                    const sides = [
                      { server: other, run: () => runOther(turns.phase) },
                      { server, run: () => run(turns.phase) },
                    ] as const
                    return compare(await inTurns(sides, turns.countEach))
                  }),
                ),
              )
              const seconds = (performance.now() - began) / 1000
              return { ...figures, mailsPerSecond: (await mails.seen()).mails / seconds, waitingMost }
            },
          ),
      ),
    ),
  )
}

function comparedCosts([others, ours]: TurnResults): Figures {
  const ratiosOf = (figure: 'changesPerSecond' | 'changesPerCpuSecond') =>
    spreadOf(ratiosToNeighbours(ours.map(figureOf(figure)), others.map(figureOf(figure)))).median
  const { changesPerSecond } = costsOf(...others)
  return {
    ...costsOf(...ours),
    withoutPerSecond: changesPerSecond as number,
    ofWithout: ratiosOf('changesPerSecond'),
    ofWithoutCpu: ratiosOf('changesPerCpuSecond'),
  }
}

function figureOf(figure: string): (result: PhaseResult) => number {
  return (result) => costsOf(result)[figure] as number
}

/** The median of the turns: other guests of the machine disturb single turns. */
function comparedWaits([others, ours]: TurnResults): Figures {
  const waitOf = (results: readonly PhaseResult[], kind: 'acknowledgement' | 'delivery') =>
    spreadOf(results.map((result) => result[kind].p99)).median
  const ackP99 = waitOf(ours, 'acknowledgement')
  const withoutP99 = waitOf(others, 'acknowledgement')
  return {
    ...costsOf(...ours),
    ackP99,
    eventP99: waitOf(ours, 'delivery'),
    withoutP99,
    ofLimit: ackP99 / allowedMs(withoutP99),
  }
}

const halfLoad: Case = {
  name: half,
  variants: mailing.map((mode) => ({
    name: mode,
    measure(round) {
      const rate = round.earlier(ones, 'unthrottled', 'withoutPerSecond') / 2
      return measureInTurns(mode, 1, round, comparedWaits, { rate })
    },
  })),
}

/** The mails of this hour go out during the minute or after it; the rest belongs to the next hour. */
async function stormed(variant: Variant, round: Round): Promise<Figures> {
  const phase = round.isQuick ? { warmupMs: 0, measuredMs: 1_000 } : { warmupMs: 2_000, measuredMs: 60_000 }
  const people = round.isQuick ? quickDivisor.subscribers : subscribers
  return notified(1, async ({ mails, start }) => {
    const figures = await started(
      () => start(modeOf(variant)),
      async (server) => {
        const [result, { residentMostBytes, waitingMost }] = await watching(server, () =>
          withReports(server, 1, round, (run) => run(phase)),
        )
        const residentMost = residentMostBytes / megabyte
        const shown = { ...costsOf(result), residentMost, waitingMost }
        if (variant === without) return shown
        await mails.until(
          ({ mailsLeast, recipients }) => recipients === people && mailsLeast >= mailsPerHourMax,
          mailsMsMax,
        )
        return { ...shown, residentMore: residentMost - round.earlier(storm, without, 'residentMost') }
      },
    )
    if (variant === without) return figures
    const { mailsMost } = await mails.seen()
    await mails.clear()
    // Reports have stopped: only one digest of the remaining notices follows.
    const digestsPerSecond = await started(
      () => start(variant, 'harness/clock-offset'),
      async () => {
        const began = performance.now()
        await mails.until(({ digests }) => digests >= people, mailsMsMax)
        return (people * 1000) / (performance.now() - began)
      },
    )
    const later = await mails.seen()
    return { ...figures, mailsMost, laterMost: later.mailsMost, digestsPerSecond }
  })
}

const minute: Case = {
  name: storm,
  baseline: without,
  variants: ([without, 'unthrottled'] as const).map((variant) => ({
    name: variant,
    measure: (round) => stormed(variant, round),
  })),
}

/** The promised throughput in a storm in which each frame triggers once. */
const promised = 0.8
/** The same with ten triggers a frame: a million runs a second, each of which reads the previous value. */
const promisedOfTens = 0.75

function costTarget(name: string, variant: FunctionMode): Target {
  const atLeast = name === tens ? promisedOfTens : promised
  return { case: name, variant, figure: 'ofWithout', whenLoadIsFull: 'ofWithoutCpu', atLeast }
}

const kept = storedRequestsMax(mailsPerHourMax)

export const functions: Benchmark = {
  figures: {
    ...formsOf('changesPerSecond', 'changesPerCpuSecond', 'serverCpuPerChange'),
    withoutPerSecond: { title: 'changes/s without, in turns', digits: 0, isOfLoad: true },
    ofWithout: { title: 'changes/s ÷ without', digits: 2, isOfLoad: true },
    ofWithoutCpu: { title: 'changes per second of server CPU ÷ without', digits: 2 },
    mailsPerSecond: { title: 'mails/s', digits: 0 },
    waitingMost: { title: 'requests kept, at most', digits: 0 },
    residentMost: { title: 'server RSS at most, MiB', digits: 0 },
    residentMore: { title: 'MiB more than without', digits: 0 },
    mailsMost: { title: 'mails to one in the hour, at most', digits: 0 },
    laterMost: { title: 'mails to one in the next, at most', digits: 0 },
    digestsPerSecond: { title: 'digests/s', digits: 0 },
    ...formsOf('ackP99', 'eventP99'),
    withoutP99: { title: 'the same without, in turns, ms', digits: 1, isOfLoad: true },
    ofLimit: { title: 'acknowledged p99 ÷ what it may be', digits: 2, isOfLoad: true },
    ...formsOf('serverCpu', 'loadCpu'),
  },
  cases: [fullSpeed(ones, 1), fullSpeed(tens, 10), halfLoad, minute],
  targets: [
    ...[ones, tens].flatMap((name): Target[] => [
      ...modes.map((mode) => costTarget(name, mode)),
      ...mailing.map((variant) => ({ case: name, variant, figure: 'waitingMost', atMost: kept })),
    ]),
    ...mailing.map((variant) => ({ case: half, variant, figure: 'ofLimit', atMost: 1 })),
    {
      case: storm,
      variant: 'unthrottled',
      figure: 'changesPerSecond',
      whenLoadIsFull: 'changesPerCpuSecond',
      isRatio: true,
      atLeast: promised,
    },
    ...Object.entries({
      waitingMost: kept,
      residentMore: 64,
      mailsMost: mailsPerHourMax,
      laterMost: 1,
    }).map(([figure, atMost]) => ({ case: storm, variant: 'unthrottled', figure, atMost })),
  ],
  rounds: 3,
  async setUp(isQuick) {
    const { path, remove } = temporaryFolder('bench-functions-')
    try {
      const people = isQuick ? quickDivisor.subscribers : subscribers
      left = await createSubscribedFolder(path, standardLoad, people)
    } catch (error) {
      await remove()
      throw error
    }
    return async () => {
      left = undefined
      await remove()
    }
  },
}

/** One of two compared servers, and what is run on it for a short while. */
interface Side<Result> {
  readonly server: Pick<RunningServer, 'processId'>
  run(): Promise<Result>
}

/**
 * The first side runs once more than the other: before and after each of its turns. The other side is stopped
 * meanwhile, so that its background work does not affect the measurement.
 */
async function inTurns<Result>(
  [first, second]: readonly [Side<Result>, Side<Result>],
  countEach: number,
): Promise<readonly [readonly Result[], readonly Result[]]> {
  const run = async (side: Side<Result>, other: Side<Result>) => {
    process.kill(other.server.processId, 'SIGSTOP')
    try {
      return await side.run()
    } finally {
      process.kill(other.server.processId, 'SIGCONT')
    }
  }
  await run(first, second)
  await run(second, first)
  const results: readonly [Result[], Result[]] = [[await run(first, second)], []]
  for (let turn = 0; turn < countEach; turn++) {
    results[1].push(await run(second, first))
    results[0].push(await run(first, second))
  }
  return results
}

/** Compares each value with the mean of the measurements before and after it: `others` has one more. */
function ratiosToNeighbours(values: readonly number[], others: readonly number[]): number[] {
  return values.map((value, turn) => (2 * value) / ((others[turn] as number) + (others[turn + 1] as number)))
}
