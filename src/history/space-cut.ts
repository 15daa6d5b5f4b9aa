import { openRow } from '#history/bytes'
import { dayMs, historyKeys } from '#history/history-keys'
import type { Retained } from '#history/history-query'
import { decodeDay } from '#history/summary'
import type { Storage } from '#runtime/storage'
import { below } from '#store/keys'
import { pagesOf } from '#store/pages'
import { packRecord, unpackRecord } from '#store/record-codec'

/** Nothing was deleted to hold the total size. */
export const noCut: Retained = { rawFrom: 0, hoursFrom: 0, daysFrom: 0 }

const cutFormat = { name: 'space cut of the history', version: 1, upgrades: {} }

export function loadCut(storage: Storage): Retained {
  const row = storage.get(historyKeys.cut)
  return row ? (unpackRecord(cutFormat, row) as Retained) : noCut
}

export async function storeCut(storage: Storage, cut: Retained): Promise<void> {
  await storage.write([{ key: historyKeys.cut, value: packRecord(cutFormat, cut) }], { sync: false })
}

/** The share of a day's summary that its hours take. */
const hoursShare = 0.9

/**
 * Decides what to delete to free so many bytes: the oldest days of points first, then the oldest hours, then the oldest
 * days. Today stays, because its points are still being summarized.
 */
export async function cutFor(
  storage: Storage,
  bytes: number,
  today: number,
  before: Retained,
  pause: () => Promise<void>,
): Promise<Retained> {
  const raw = new Map<number, number>()
  const hours = new Map<number, number>()
  const days = new Map<number, number>()
  for await (const page of pagesOf(storage, { ...below('block'), hasValues: true })) {
    for (const { key, value } of page) add(raw, historyKeys.dayOfBlock(key), key.length + value.length)
    await pause()
  }
  for await (const page of pagesOf(storage, { ...below('sum'), hasValues: true })) {
    for (const { key, value } of page) {
      const day = historyKeys.dayOfSum(key)
      const share = decodeDay(openRow(value)).hasHours ? hoursShare : 0
      add(hours, day, value.length * share)
      add(days, day, key.length + value.length * (1 - share))
    }
    await pause()
  }
  let left = bytes
  const [rawFrom, hoursFrom, daysFrom] = [raw, hours, days].map((sizes) => {
    let from = 0
    for (const [day, size] of [...sizes].sort(([a], [b]) => a - b)) {
      if (left <= 0 || day >= today) break
      left -= size
      from = (day + 1) * dayMs
    }
    return from
  }) as [number, number, number]
  return {
    rawFrom: Math.max(before.rawFrom, rawFrom, hoursFrom, daysFrom),
    hoursFrom: Math.max(before.hoursFrom, hoursFrom, daysFrom),
    daysFrom: Math.max(before.daysFrom, daysFrom),
  }
}

function add(sizes: Map<number, number>, day: number, bytes: number): void {
  sizes.set(day, (sizes.get(day) ?? 0) + bytes)
}
