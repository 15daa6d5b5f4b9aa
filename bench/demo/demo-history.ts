import { addToState, type DemoTarget, readState } from '#bench/demo/demo-content'
import type { SimulatedDevice } from '#bench/fleet/device'
import { changeNumberAt, type SimulatedProperty } from '#bench/fleet/kinds'
import { askApi, authorizationHeader } from '#bench/harness/identity'
import { sleep } from '#bench/time'

const hourMs = 3_600_000

/** More recent points are closer together, because shorter charts show them. */
const spans = [
  { ageMsMax: 7 * 24 * hourMs, stepMs: hourMs / 2 },
  { ageMsMax: 24 * hourMs, stepMs: hourMs / 12 },
  { ageMsMax: hourMs, stepMs: hourMs / 120 },
] as const

/** An import may have 20 000 rows, and a device has 5 500. */
const devicesPerImport = 3
const retryMs = 1_000

/**
 * Stores seven days of history before the first start of the demo, a few devices at a time, so that charts are full.
 * Continues where an earlier start stopped. A point that is sent again has the same time, and is stored once. `signal`
 * ends it.
 */
export async function fillHistory(
  target: DemoTarget,
  devices: readonly SimulatedDevice[],
  signal: AbortSignal,
): Promise<void> {
  const { history } = readState(target.dataFolder)
  if (!history) return
  const times = timesBefore(history.until)
  for (let from = history.devices; from < devices.length && !signal.aborted; from += devicesPerImport) {
    const some = devices.slice(from, from + devicesPerImport)
    const isStored = await importCsv(target, csvOf(some, times), signal)
    if (!isStored) return
    addToState(target.dataFolder, { history: { ...history, devices: from + some.length } })
  }
}

function timesBefore(until: number): number[] {
  return spans.flatMap(({ ageMsMax, stepMs }, place) => {
    const ageMsMin = spans[place + 1]?.ageMsMax ?? 0
    return Array.from({ length: (ageMsMax - ageMsMin) / stepMs }, (_, step) => until - ageMsMax + step * stepMs)
  })
}

function csvOf(devices: readonly SimulatedDevice[], times: readonly number[]): string {
  const rows = ['deviceIdentifier,serviceIdentifier,propId,time,value']
  for (const { index, identifier, plan } of devices) {
    for (const { serviceIdentifier, properties } of plan.kind.services) {
      for (const property of properties.filter(({ model, isConstant }) => model && !isConstant)) {
        const head = `${identifier},${serviceIdentifier},${property.propId}`
        for (const time of times) rows.push(`${head},${time},${valueText(property, index, time)}`)
      }
    }
  }
  return `${rows.join('\n')}\n`
}

function valueText({ model }: SimulatedProperty, deviceIndex: number, time: number): string {
  const value = model?.(changeNumberAt(time), deviceIndex)
  return Array.isArray(value) ? `"${JSON.stringify(value)}"` : String(value)
}

/** False if history is off, or `signal` ended it. */
async function importCsv({ port, person }: DemoTarget, csv: string, signal: AbortSignal): Promise<boolean> {
  const headers = { ...authorizationHeader(person), 'content-type': 'text/csv' }
  while (!signal.aborted) {
    const { status, text } = await askApi(port, '/history/import', { method: 'POST', headers, body: csv })
    if (status === 404) return false
    if (status === 200) {
      const { rejected } = JSON.parse(text) as {
        readonly rejected: { readonly unknown: number; readonly invalid: number }
      }
      if (rejected.unknown + rejected.invalid > 0) throw new Error(`the import of history rejected values: ${text}`)
      return true
    }
    // The server is busy: try again.
    if (status !== 429 && status !== 503) throw new Error(`the import of history was answered ${status}: ${text}`)
    await sleep(retryMs)
  }
  return false
}
