import { ByteWriter, openRow } from '#history/bytes'
import { dayMs, dayOf, historyKeys } from '#history/history-keys'
import type { Retained } from '#history/history-query'
import { noCut, type Retentions } from '#history/retention'
import type { SeriesTable } from '#history/series-table'
import { decodeDay, encodeDay } from '#history/summary'
import type { Operation, Storage } from '#runtime/storage'
import { keysBelow } from '#store/key-space'
import { pagesOf } from '#store/pages'
import { packRecord, unpackRecord } from '#store/record-codec'

/** Unless `isThorough`, expired summaries of hours are searched for only in this many days before `hoursFrom`. */
const daysBack = 30

export interface Expiry {
  readonly storage: Storage
  readonly table: SeriesTable
  readonly retentions: Retentions
  readonly now: number
  /** Called between series. */
  readonly pause: () => Promise<void>
}

/** Too large a history is cut to this share of its limit, so that it is not cut all the time. */
const keptShare = 0.9
/** The sizes of rows only estimate their space on the disk, so more than one cut is sometimes needed. */
const cutAttemptsMax = 3

/** Deletes the oldest data until the history takes at most this space on the disk, as far as possible. */
export async function limitDiskBytes(bytesMax: number, expiry: Expiry): Promise<void> {
  const { storage, retentions, now, pause } = expiry
  for (let attempt = 0; attempt < cutAttemptsMax; attempt++) {
    const bytes = await storage.diskBytes()
    if (bytes <= bytesMax) return
    retentions.cut = await cutFor(storage, bytes - keptShare * bytesMax, dayOf(now), retentions.cut, pause)
    await storeCut(storage, retentions.cut)
    await expireAll(expiry, true)
  }
}

/**
 * `isThorough`: searches all days for summaries of hours, because the retention may have changed, and frees the space.
 */
export async function expireAll(
  { storage, table, retentions, now, pause }: Expiry,
  isThorough: boolean,
): Promise<void> {
  for (const { device, ...series } of table.all()) {
    if (!table.isAlive(series.id)) continue
    await expireSeries(storage, series.id, retentions.retainedAt(now, device.tenant, series), isThorough)
    await pause()
  }
  if (isThorough) await storage.compact()
}

/**
 * Deletes the expired parts of a series: blocks of its points and marks, and summaries of hours and of days. A day
 * stays until its last moment is too old.
 */
async function expireSeries(
  storage: Storage,
  series: number,
  { rawFrom, hoursFrom, daysFrom }: Retained,
  isThorough: boolean,
): Promise<void> {
  const operations: Operation[] = []
  const expired = [
    historyKeys.blocks(series, 0, dayOf(rawFrom) - 1),
    historyKeys.blocks(series + 1, 0, dayOf(rawFrom) - 1),
    historyKeys.sums(series, 0, dayOf(daysFrom) - 1),
  ]
  for (const range of expired) {
    for await (const page of pagesOf(storage, { ...range, hasValues: false }))
      for (const { key } of page) operations.push({ key, value: null })
  }
  const writer = new ByteWriter()
  const [fromDay, toDay] = [dayOf(daysFrom), dayOf(hoursFrom) - 1]
  const range = historyKeys.sums(series, isThorough ? fromDay : Math.max(fromDay, toDay - daysBack), toDay)
  for await (const page of pagesOf(storage, { ...range, hasValues: true })) {
    for (const { key, value } of page) {
      const day = decodeDay(openRow(value))
      if (!day.mergeHours()) continue
      encodeDay(day, writer)
      operations.push({ key, value: writer.takeRow() })
    }
  }
  if (operations.length > 0) await storage.write(operations, { sync: false })
}

const cutFormat = { name: 'space cut of the history', version: 1, upgrades: {} }

export function loadCut(storage: Storage): Retained {
  const row = storage.get(historyKeys.cut)
  return row ? (unpackRecord(cutFormat, row) as Retained) : noCut
}

async function storeCut(storage: Storage, cut: Retained): Promise<void> {
  await storage.write([{ key: historyKeys.cut, value: packRecord(cutFormat, cut) }], { sync: false })
}

/** The share of a day's summary that its hours take. */
const hoursShare = 0.9

/**
 * Decides what to delete to free this number of bytes: first points, then summaries of hours, then summaries of days,
 * each from the oldest day on. Today stays, because its points are still being summarized.
 */
async function cutFor(
  storage: Storage,
  bytes: number,
  today: number,
  before: Retained,
  pause: () => Promise<void>,
): Promise<Retained> {
  const raw = new Map<number, number>()
  const hours = new Map<number, number>()
  const days = new Map<number, number>()
  for await (const page of pagesOf(storage, { ...keysBelow('block'), hasValues: true })) {
    for (const { key, value } of page) add(raw, historyKeys.dayOfBlock(key), key.length + value.length)
    await pause()
  }
  for await (const page of pagesOf(storage, { ...keysBelow('sum'), hasValues: true })) {
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
