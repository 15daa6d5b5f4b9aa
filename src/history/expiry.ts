import { ByteWriter, openRow } from '#history/bytes'
import { historyKeys } from '#history/history-keys'
import { decodeDay, encodeDay } from '#history/summary'
import type { Operation, Storage } from '#runtime/storage'
import { pagesOf } from '#store/pages'

/** Summaries of hours are looked for in this many days before the oldest that stays. */
const daysBack = 30

/** Deletes the blocks of a series and its marks before a day, and the hours of its summaries before another day. */
export async function expireSeries(storage: Storage, series: number, rawDay: number, hoursDay: number): Promise<void> {
  const operations: Operation[] = []
  for (const each of [series, series + 1]) {
    const range = historyKeys.blocks(each, 0, rawDay - 1)
    for await (const page of pagesOf(storage, { ...range, hasValues: false }))
      for (const { key } of page) operations.push({ key, value: null })
  }
  const writer = new ByteWriter()
  const range = historyKeys.sums(series, Math.max(1, hoursDay - daysBack), hoursDay - 1)
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
