import type { Benchmark, Case, Figures, Round } from '#bench/harness/benchmark'
import { eventLatencies, eventLatencyForms } from '#bench/harness/load-figures'
import { runInAlternatingOrder, standardLoad, underLoad, withRemote } from '#bench/harness/running-load'
import { ownServer } from '#bench/harness/servers'
import { identifierOf, serviceIdentifier } from '#bench/load/fleet-link'
import type { PhaseResult } from '#bench/load/generator'
import type { ReadResult } from '#bench/load/readers'

const exportedDevices = 100
/** Frames of ten changes a second during the measurement. */
const rate = 2_000

const devices = Array.from({ length: exportedDevices }, (_, device) => identifierOf(standardLoad.prefix, device))
const path = `/api/v1/history/export?serviceIdentifier=${serviceIdentifier}${devices.map((each) => `&deviceIdentifier=${each}`).join('')}`

/** Event latencies in windows without and with a client that exports history again and again. */
function duringExports({ isQuick }: Round): Promise<Figures> {
  const [pairs, fillMs, warmupMs, measuredMs] = isQuick ? [1, 1_000, 100, 300] : [4, 10_000, 500, 3_000]
  const load = { ...standardLoad, devices: 1_000, changes: 10 }
  return underLoad(ownServer({ DURABILITY: 'process', HISTORY: 'on' }), load, async ({ run }, server) => {
    await run({ warmupMs: 0, measuredMs: fillMs })
    await run({ warmupMs: isQuick ? 0 : 2_000, measuredMs: 100, rate })
    const without: PhaseResult[] = []
    const during: PhaseResult[] = []
    const reads: ReadResult[] = []
    const window = () => run({ warmupMs, measuredMs, rate })
    const windowWithout = async () => void without.push(await window())
    const windowWith = () =>
      withRemote('load/readers', async (reader) => {
        await reader.ask('begin', { ...server, path })
        const [result, read] = await Promise.all([window(), reader.ask<ReadResult>('measure', warmupMs + measuredMs)])
        during.push(result)
        reads.push(read)
      })
    await runInAlternatingOrder(pairs, windowWithout, windowWith)
    const sumOf = (figure: 'bytes' | 'seconds') => reads.reduce((sum, read) => sum + read[figure], 0)
    return { ...eventLatencies(without, during), megabytesPerSecond: sumOf('bytes') / 1e6 / sumOf('seconds') }
  })
}

const name = 'events during exports'

export const exportsBesideEvents: Case = { name, variants: [{ name: 'one client', measure: duringExports }] }

export const exportFigures = {
  ...eventLatencyForms,
  megabytesPerSecond: { title: 'exported MB/s', digits: 1, isOfLoad: true },
} as const

export const exportTargets: Benchmark['targets'] = [{ case: name, variant: 'one client', figure: 'ofLimit', atMost: 1 }]
