// Answers: how much a rollout delays changes: 10 000 devices that take an image of 64 KiB, and 100 that take one of 16 MiB, each while another fleet reports at 30 % of the maximum throughput; the p99 of those reports at a dashboard, over windows of four seconds before and during the rollout, and how long the rollout takes. The p99 may double or grow by 10 ms, whichever is more: at this limit `event p99 ÷ its limit` is 1. The devices count simultaneous downloads. Does not count: the network, slow devices, installation on devices.

import { randomBytes } from 'node:crypto'
import { fullSpeed, partOfFullSpeed } from '#bench/benchmarks/latency'
import { Fleet } from '#bench/fleet/fleet'
import { deviceKinds } from '#bench/fleet/kinds'
import { simultaneousDownloads } from '#bench/fleet/updates'
import type { Benchmark, Case, Figures, Round } from '#bench/harness/benchmark'
import { askApi, callApi } from '#bench/harness/identity'
import { costsOf, eventLatencies, eventLatencyForms, formsOf } from '#bench/harness/load-figures'
import { type RunningLoad, standardLoad, underLoad } from '#bench/harness/running-load'
import { ownServer, type RunningServer } from '#bench/harness/servers'
import type { PhaseResult } from '#bench/load/generator'
import { startCpuClock } from '#bench/process-usage'
import { until } from '#bench/time'

const start = ownServer({ DURABILITY: 'process' })
const variant = 'process'
const part = 0.3

interface Rollout {
  readonly devices: number
  readonly links: number
  readonly imageBytes: number
}

const rollouts: Readonly<Record<string, Rollout>> = {
  '10 000 devices, 64 KiB': { devices: 10_000, links: 100, imageBytes: 2 ** 16 },
  '100 devices, 16 MiB': { devices: 100, links: 100, imageBytes: 2 ** 24 },
}
const quick: Rollout = { devices: 200, links: 10, imageBytes: 2 ** 16 }

const [kind] = deviceKinds()
const project = `/updates/projects/${kind?.code.toLowerCase()}`
const firmware = '9.0.0'
const onlineMsMax = 60_000
const updatedMsMax = 10 * 60_000
const countedMsMax = 10_000

function duringRollout([name, rollout]: readonly [string, Rollout]): Case {
  const measure = (round: Round) =>
    underLoad(start, { ...standardLoad, hasOtherEvents: true }, async (load, server) => {
      const fleet = await connected(server, round.isQuick ? quick : rollout)
      try {
        return await measured(load, server, fleet, round)
      } finally {
        await fleet.stop(false)
      }
    })
  return { name, variants: [{ name: variant, measure }] }
}

/** Connects the devices; their rollout is paused. */
async function connected({ port }: RunningServer, { devices, links, imageBytes }: Rollout): Promise<Fleet> {
  await callApi(port, `${project}/rollout`, { method: 'PUT', body: { firmware, percent: 100 } })
  await callApi(port, `${project}/rollout/pause`, { method: 'POST' })
  const upload = { method: 'PUT', body: randomBytes(imageBytes) }
  const { status } = await askApi(port, `${project}/releases/${firmware}`, upload)
  if (status !== 201) throw new Error(`the release was answered ${status}`)
  const url = `ws://127.0.0.1:${port}`
  const fleet = new Fleet({ url, devices, links, prefix: 'UPDATED', kinds: kind ? [kind] : [], updates: 'well' })
  fleet.pause()
  fleet.start()
  if (await fleet.allOnline(onlineMsMax)) return fleet
  await fleet.stop(false)
  throw new Error('not all devices are welcome')
}

/** Figures from the start of the rollout until the server counts every device as done. */
async function rollOut({ port, processId }: RunningServer, fleet: Fleet): Promise<Figures> {
  const { devices, counts } = fleet
  const { updates, faults } = counts
  const readClock = startCpuClock(processId)
  simultaneousDownloads.most = 0
  await callApi(port, `${project}/rollout/resume`, { method: 'POST' })
  const isOver = () => updates.updated === devices.length || faults.length > 0 || fleet.isStopped
  await until(isOver, updatedMsMax)
  const isCounted = async () => {
    const { counts } = await callApi<{ counts: Record<string, number> }>(port, `${project}/rollout`, {})
    return counts.done === devices.length && counts.failed === 0 && counts.refused === 0
  }
  const isDone = await until(isCounted, countedMsMax, 50)
  if (!isDone || faults.length > 0) throw new Error(`${JSON.stringify(updates)}; ${faults.join('; ')}`)
  const { seconds, loadCpuSeconds } = readClock()
  return {
    rolloutSeconds: seconds,
    mebibytesPerSecond: updates.bytes / seconds / 2 ** 20,
    // As the devices count: a download lasts from the request to the end of the answer.
    downloadsAtOnce: simultaneousDownloads.most,
    updatedCpu: (loadCpuSeconds / seconds) * 100,
  }
}

async function measured({ run }: RunningLoad, server: RunningServer, fleet: Fleet, round: Round): Promise<Figures> {
  const { isQuick } = round
  const rate = partOfFullSpeed(round, part)
  const [windows, warmupMs, measuredMs] = isQuick ? [1, 100, 200] : [9, 500, 4_000]
  const inWindows = async (count: number) => {
    const results: PhaseResult[] = []
    while (results.length < count) results.push(await run({ warmupMs, measuredMs, rate }))
    return results
  }
  await run({ warmupMs: isQuick ? 0 : 2_000, measuredMs: 100, rate })
  const before = await inWindows(Math.ceil(windows / 2))
  const startedAt = performance.now()
  const [rollout, { during, seconds }] = await Promise.all([
    rollOut(server, fleet),
    inWindows(windows).then((during) => ({ during, seconds: (performance.now() - startedAt) / 1000 })),
  ])
  const { rolloutSeconds = 0 } = rollout
  if (!isQuick && rolloutSeconds < seconds)
    throw new Error(`the rollout was over in ${rolloutSeconds} s, before the other load was measured`)
  const serverCpuBefore = costsOf(...before).serverCpu as number
  return { ...eventLatencies(before, during), ...costsOf(...during), serverCpuBefore, ...rollout }
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
  cases: [fullSpeed, ...Object.entries(rollouts).map(duringRollout)],
  targets: Object.keys(rollouts).flatMap((name) =>
    Object.entries({ ofLimit: 1, downloadsAtOnce: 64 }).map(([figure, atMost]) => ({
      ...{ case: name, variant, figure, atMost },
    })),
  ),
  rounds: 3,
}
