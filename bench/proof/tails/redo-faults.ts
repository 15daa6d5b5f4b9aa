import { headOf } from '#store/chunk'
import { numberOf } from '#store/keys'
import { unpackRecord } from '#store/record-codec'
import { Salvage } from '#store/repair/salvage'
import { redoFormat } from '#store/store-journal'

/** What a start would go over without having it: entries between `redoFrom` and the end of a stream. */
export async function redoFaults(database: string): Promise<readonly string[]> {
  const next = new Map<string, number>()
  const faults: string[] = []
  // In the order of their keys: marks come before streams.
  for await (const { key, value } of new Salvage(database).rows()) {
    const [place, tenant = ''] = key.split('/')
    if (place === 'redo') next.set(tenant, unpackRecord(redoFormat, value) as number)
    if (place !== 'stream') continue
    const expected = next.get(tenant) ?? 1
    const first = numberOf(key)
    if (first > expected) faults.push(`the stream of ${tenant} lacks ${expected} to ${first - 1} of what is redone`)
    next.set(tenant, Math.max(expected, first + headOf(value).count))
  }
  return faults
}
