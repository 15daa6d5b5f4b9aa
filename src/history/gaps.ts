import { historyKeys } from '#history/history-keys'
import type { Operation, Storage } from '#runtime/storage'
import { keysBelow, numberOf } from '#store/key-space'
import { pagesOf } from '#store/pages'
import { packRecord, unpackRecord } from '#store/record-codec'

/** A span of arrival time in which points may be missing, Unix ms. */
export interface Gap {
  readonly from: number
  readonly to: number
}

const gapFormat = { name: 'gap of the history', version: 1, upgrades: {} }

export function gapRow(tenant: string, { from, to }: Gap): Operation {
  return { key: historyKeys.gap(tenant, from), value: packRecord(gapFormat, to) }
}

/** The gaps of a tenant that touch a span. */
export async function readGaps(storage: Storage, tenant: string, { from, to }: Gap): Promise<Gap[]> {
  const gaps: Gap[] = []
  for await (const page of pagesOf(storage, { ...keysBelow(`gap/${tenant}`), hasValues: true })) {
    for (const { key, value } of page) {
      const gap = { from: numberOf(key), to: unpackRecord(gapFormat, value) as number }
      if (gap.to > from && gap.from < to) gaps.push(gap)
    }
  }
  return gaps
}

export async function deleteGaps(storage: Storage, tenant: string): Promise<void> {
  const gaps: Operation[] = []
  for await (const page of pagesOf(storage, { ...keysBelow(`gap/${tenant}`), hasValues: false }))
    for (const { key } of page) gaps.push({ key, value: null })
  if (gaps.length > 0) await storage.write(gaps, { sync: false })
}
