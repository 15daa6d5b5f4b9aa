import { expect, test } from 'vitest'
import { merged, type Piece, readBlocks, storeInBlocks } from '#history/blocks'
import { dayOf } from '#history/history-keys'
import { mergeRuns } from '#history/merge'
import { PageWriter, readRun } from '#history/pages'
import { Points } from '#history/points'
import { checkpointOf, type Run, runName } from '#history/runs'
import { memoryPlace } from '#test/store/memory'

const series = 2
const time = 1_700_000_000_000

function pointsOf(...list: readonly (readonly [time: number, value: number])[]): Points {
  const points = new Points()
  for (const [at, value] of list) points.push(at, value)
  return points
}

test.each([1, 100])(
  'a point in a merged run does not replace a later one in a block, with blocks of at least %i points',
  async (blockPointsMin) => {
    const storage = await memoryPlace().open()
    const stored = async (sequence: number, points: Points): Promise<Run> => {
      const name = runName(sequence, 1)
      const pages = new PageWriter(name)
      pages.add(series, points)
      pages.end()
      await storage.write(pages.pages, { sync: false })
      return { name, sequence, level: 1, checkpoint: checkpointOf(['', []]), removed: [], nextId: 4 }
    }
    // In the order of the stream.
    const first = await stored(16, pointsOf([time, 1], [time + 1, 1]))
    const points = [{ sequence: 32, points: pointsOf([time, 2]) }]
    const block = { storage, series, points, marks: [], sequence: 32, others: async () => new Map() }
    await storage.write(await storeInBlocks(block), { sync: false })
    const last = await stored(48, pointsOf([time + 1, 3]))
    const made = await mergeRuns({
      storage,
      runs: [first, last],
      otherRuns: [],
      blockPointsMin,
      isNeeded: () => true,
      pause: async () => {},
    })
    const pieces: Piece[] = await readBlocks(storage, series, dayOf(time), dayOf(time))
    if (made) {
      const { sequence } = made
      await readRun(storage, made.name, [series], (_, points) => pieces.push({ sequence, points }))
    }
    const { times, values, count } = merged(pieces)
    expect([...times.subarray(0, count)]).toEqual([time, time + 1])
    expect([...values.subarray(0, count)]).toEqual([2, 3])
  },
)

test('a day that is stored again keeps a point that a later run replaces', async () => {
  const storage = await memoryPlace().open()
  const stored = async (sequence: number, points: Points): Promise<Run> => {
    const name = runName(sequence, 0)
    const pages = new PageWriter(name)
    pages.add(series, points)
    pages.end()
    await storage.write(pages.pages, { sync: false })
    return { name, sequence, level: 0, checkpoint: checkpointOf(['', []]), removed: [], nextId: 4 }
  }
  const block = { storage, series, marks: [], others: async () => new Map() }
  const oldest = pointsOf([time, 1], [time + 9, 1])
  await storage.write(await storeInBlocks({ ...block, points: [{ sequence: 1, points: oldest }], sequence: 1 }), {
    sync: false,
  })
  const between = await stored(2, pointsOf([time, 2]))
  const late = await stored(3, pointsOf([time + 5, 3]))
  await mergeRuns({
    storage,
    runs: [late],
    otherRuns: [between],
    blockPointsMin: 1,
    isNeeded: () => true,
    pause: async () => {},
  })
  const pieces: Piece[] = await readBlocks(storage, series, dayOf(time), dayOf(time))
  await readRun(storage, between.name, [series], (_, points) => pieces.push({ sequence: 2, points }))
  const { values, count } = merged(pieces)
  expect([...values.subarray(0, count)]).toEqual([2, 3, 1])
})
