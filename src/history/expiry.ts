import { ByteWriter, openRow } from '#history/bytes'
import { dayOf, historyKeys } from '#history/history-keys'
import type { Retention } from '#history/retention'
import { decodeDay, encodeDay } from '#history/summary'
import type { Operation, Storage } from '#runtime/storage'
import { pagesOf } from '#store/pages'

/** Summaries of hours are looked for in this many days before the oldest that stays. */
const daysBack = 30

/** Deletes what of a series is kept no longer: blocks of it and its marks, summaries of hours, and of days. */
export async function expireSeries(storage: Storage, series: number, retention: Retention, now: number): Promise<void> {
  // A day is kept until its last moment is too old; of a property that is not kept, today is deleted too.
  const firstDay = (ms: number) => Math.max(0, retention.isKept ? dayOf(now - ms) : dayOf(now) + 1)
  const { rawMs, hoursMs, daysMs } = retention
  const operations: Operation[] = []
  const expired = [
    historyKeys.blocks(series, 0, firstDay(rawMs) - 1),
    historyKeys.blocks(series + 1, 0, firstDay(rawMs) - 1),
    historyKeys.sums(series, 0, firstDay(daysMs) - 1),
  ]
  for (const range of expired) {
    for await (const page of pagesOf(storage, { ...range, hasValues: false }))
      for (const { key } of page) operations.push({ key, value: null })
  }
  const writer = new ByteWriter()
  const [fromDay, toDay] = [firstDay(daysMs), firstDay(hoursMs) - 1]
  const range = historyKeys.sums(series, Math.max(fromDay, toDay - daysBack), toDay)
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
