import { expect, test } from 'vitest'
import { dayMs } from '#history/history-keys'
import { HistoryStore } from '#history/history-store'
import { readPage } from '#history/query'
import type { TimedCheckpoint } from '#history/runs'
import { chunkOf, shapes, start, tenant } from '#test/history/query-fixture'
import { memoryStorage } from '#test/store/memory'

async function stored(history: HistoryStore): Promise<Record<string, readonly [time: number, value: number][]>> {
  const found: Record<string, readonly [number, number][]> = {}
  const range = { from: start, to: start + dayMs, limit: 10, charactersMax: 10, isDescending: false }
  for (const name of ['A', 'B']) {
    const ids = [...(history.find(tenant, name)?.series() ?? [])].map(({ id }) => id)
    const { points } = await readPage(history, history.freshOf(ids), range, () => range.from)
    const lists = [...points.values()].map(({ times, values, count }) =>
      Array.from({ length: count }, (_, index): [number, number] => [times[index] as number, values[index] as number]),
    )
    found[name] = lists.flat()
  }
  return found
}

async function report(history: HistoryStore, offset: number, device: string, flakeAddress: number, timestamp: number) {
  await history.apply(chunkOf(offset, { at: start, timestamp, device, flakeAddress, items: [0, offset] }), start)
}

test('a device has only its own points if its address was first given to a device whose entries were lost', async () => {
  const backend = memoryStorage()
  const open = async () => {
    const history = await HistoryStore.open(await backend.open(), shapes)
    await history.resume(history.checkpoints.at(-1) as TimedCheckpoint, 'epoch 1')
    return history
  }
  let history = await open()
  await report(history, 1, 'A', 1, start)
  await history.flush()
  backend.crash()
  history = await open()
  await report(history, 1, 'B', 1, start)
  await report(history, 2, 'B', 1, start + 1)
  const points = [
    [start, 1],
    [start + 1, 2],
  ]
  expect(await stored(history)).toEqual({ A: [], B: points })
})

test('a device that was deleted and created again in skipped entries has no old history, also after a restart', async () => {
  const backend = memoryStorage()
  const open = async () => {
    const history = await HistoryStore.open(await backend.open(), shapes)
    await history.resume(history.checkpoints[0] as TimedCheckpoint, 'epoch 1')
    return history
  }
  let history = await open()
  await report(history, 1, 'A', 1, start)
  await report(history, 2, 'B', 2, start)
  await history.flush()
  backend.crash()
  history = await open()
  await history.skip(tenant, 9, start)
  await report(history, 10, 'A', 3, start + 1)
  await report(history, 11, 'B', 2, start + 1)
  const expected = {
    A: [[start + 1, 10]],
    B: [
      [start, 2],
      [start + 1, 11],
    ],
  }
  expect(await stored(history)).toEqual(expected)
  await history.flush()
  backend.crash()
  history = await open()
  expect(await stored(history)).toEqual(expected)
  // An import for the deleted device is ignored.
  const series = { tenant, device: 'A', service: 'service', propId: 0, type: 'float', times: [start], values: [7] }
  await history.importPoints([{ ...series, flakeAddress: 1 }], start)
  expect(await stored(history)).toEqual(expected)
})
