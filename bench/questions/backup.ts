// Answers: what a backup costs the changes on their way: 100 000 devices that report at 30 % of what the server takes of them at full speed; the p99 of those reports on a dashboard, before and while one backup of all of it follows the other, and how long one takes. It may take twice as long as before, or 10 ms longer: that is 1 and below in the column of shares. Does not count: the network, the disk that a backup is written to, firmware images.

import { allowedMs } from '#bench/harness/allowed'
import { type Figures, loadFigure, type Question, type Round, type Variant } from '#bench/harness/question'
import { Remote } from '#bench/harness/remote'
import { ours } from '#bench/harness/servers'
import { type RunPhase, underLoad } from '#bench/harness/under-load'
import type { BackupResult } from '#bench/load/backup'
import type { PhaseResult, PhaseSpec } from '#bench/load/ingest'

const load = { devices: 100_000, links: 100, window: 64, changes: 1, properties: 10, prefix: 'LOAD', dashboards: 1 }
const start = ours({ DURABILITY: 'process' })

const variant = 'process'
const fullSpeed = 'full speed'
const beside = 'a backup after the other'
const part = 0.3

function loadOf({ isQuick }: Round): typeof load {
  return isQuick ? { ...load, devices: load.devices / 100, links: 10 } : load
}

const fastest: Variant = {
  name: variant,
  async measure(round) {
    const phase: PhaseSpec = round.isQuick ? { warmupMs: 300, measuredMs: 500 } : { warmupMs: 4_000, measuredMs: 8_000 }
    const { frames, seconds, serverCpuSeconds, loadCpuSeconds } = await underLoad(
      start,
      'load/ingest',
      loadOf(round),
      (run) => run<PhaseResult>(phase),
    )
    return {
      framesPerSecond: frames / seconds,
      serverCpu: (serverCpuSeconds / seconds) * 100,
      [loadFigure]: (loadCpuSeconds / seconds) * 100,
    }
  },
}

const backedUp: Variant = {
  name: variant,
  measure(round) {
    const rate = round.earlier(fullSpeed, variant, 'framesPerSecond') * part
    return underLoad(start, 'load/ingest', loadOf(round), async (run, _, place) => {
      const taker = new Remote('load/backup')
      try {
        await taker.ask('open', { ...place })
        return await measured(run, (milliseconds) => taker.ask('run', { milliseconds }), rate, round)
      } finally {
        await taker.stop()
      }
    })
  },
}

async function measured(
  run: RunPhase,
  backUp: (milliseconds: number) => Promise<BackupResult>,
  rate: number,
  { isQuick }: Round,
): Promise<Figures> {
  const times = isQuick ? { warmupMs: 100, measuredMs: 300 } : { warmupMs: 4_000, measuredMs: 10_000 }
  const before = await run<PhaseResult>({ ...times, rate })
  const [taken, during] = await Promise.all([
    backUp(times.warmupMs + times.measuredMs),
    run<PhaseResult>({ ...times, rate }),
  ])
  return {
    framesPerSecond: during.frames / during.seconds,
    backupSeconds: taken.seconds / taken.backups,
    mebibytes: taken.bytes / taken.backups / 2 ** 20,
    heardP99Before: before.delivery.p99,
    heardP99: during.delivery.p99,
    heardP999: during.delivery.p999,
    heardShare: during.delivery.p99 / allowedMs(before.delivery.p99),
    ackP99Before: before.acknowledgement.p99,
    ackP99: during.acknowledgement.p99,
    serverCpuBefore: (before.serverCpuSeconds / before.seconds) * 100,
    serverCpu: (during.serverCpuSeconds / during.seconds) * 100,
    [loadFigure]: (during.loadCpuSeconds / during.seconds) * 100,
  }
}

export const backup: Question = {
  figures: {
    framesPerSecond: { title: 'frames/s', digits: 0, isOfLoad: true },
    backupSeconds: { title: 'backup, s', digits: 1 },
    mebibytes: { title: 'MiB', digits: 0 },
    heardP99Before: { title: 'heard p99 before, ms', digits: 1, isOfLoad: true },
    heardP99: { title: 'heard p99, ms', digits: 1, isOfLoad: true },
    heardP999: { title: 'heard p99.9, ms', digits: 1, isOfLoad: true },
    heardShare: { title: 'share of what p99 may take', digits: 2, isOfLoad: true },
    ackP99Before: { title: 'acknowledged p99 before, ms', digits: 1, isOfLoad: true },
    ackP99: { title: 'acknowledged p99, ms', digits: 1, isOfLoad: true },
    serverCpuBefore: { title: 'server CPU before, %', digits: 0 },
    serverCpu: { title: 'server CPU, %', digits: 0 },
    [loadFigure]: { title: 'load CPU, %', digits: 0 },
  },
  cases: [
    { name: fullSpeed, variants: [fastest] },
    { name: beside, variants: [backedUp] },
  ],
  targets: [{ case: beside, variant, figure: 'heardShare', atMost: 1 }],
  rounds: 3,
}
