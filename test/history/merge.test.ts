import { expect, test } from 'vitest'
import { pointsOfDay, readDay, storeInBlocks } from '#history/blocks'
import { dayOf } from '#history/history-keys'
import { mergeRuns } from '#history/merge'
import { Points } from '#history/points'
import { checkpointOf, PageWriter, type Run, readRuns, runName } from '#history/runs'
import type { Storage } from '#runtime/storage'
import { memoryStorage } from '#test/store/memory'

const series = 2
const time = 1_700_000_000_000
const day = dayOf(time)

function pointsOf(...list: readonly (readonly [time: number, value: number])[]): Points {
  const points = new Points()
  for (const [at, value] of list) points.push(at, value)
  return points
}

/** A storage with runs and blocks of one series. */
class Fixture {
  readonly #storage: Storage

  private constructor(storage: Storage) {
    this.#storage = storage
  }

  static async open(): Promise<Fixture> {
    return new Fixture(await memoryStorage().open())
  }

  async run(sequence: number, level: number, points: Points): Promise<Run> {
    const name = runName(sequence, level)
    const pages = new PageWriter(name)
    pages.add(series, points)
    pages.end()
    await this.#storage.write(pages.pages, { sync: false })
    const checkpoint = checkpointOf(['', []])
    return { name, sequence, level, checkpoint, removed: [], nextId: 4, pages: pages.firsts }
  }

  async block(sequence: number, points: Points): Promise<void> {
    const none = { marks: new Points(1), others: () => new Map() }
    const pieces = () => [[{ sequence, points }], []] as const
    const stored = storeInBlocks({ storage: this.#storage, series, points, pieces, sequence, ...none })
    await this.#storage.write(stored, { sync: false })
  }

  merge(runs: readonly Run[], otherRuns: readonly Run[], blockPointsMin: number): Promise<Run | undefined> {
    const pause = async () => {}
    return mergeRuns({ storage: this.#storage, runs, otherRuns, blockPointsMin, isNeeded: () => true, pause })
  }

  blocks(): readonly number[] {
    return readDay(this.#storage, series, day)?.blocks ?? []
  }

  /** The points in the blocks and in these runs. `blocks`: an earlier list of blocks. */
  points(runs: readonly (Run | undefined)[], blocks = this.blocks()): (readonly [time: number, value: number])[] {
    const kept = runs.flatMap((run) => run ?? [])
    const fresh = readRuns(this.#storage, kept, [series])
    const { times, values, count } = pointsOfDay(this.#storage, series, day, blocks, fresh.get(series) ?? [])
    return Array.from({ length: count }, (_, index) => [times[index] as number, values[index] as number])
  }
}

test.each([1, 100])(
  'a merged point does not replace a later point in a block (series get blocks from %i points on)',
  async (pointsMin) => {
    const fixture = await Fixture.open()
    // In the order of the stream.
    const first = await fixture.run(16, 1, pointsOf([time, 1], [time + 1, 1]))
    await fixture.block(32, pointsOf([time, 2]))
    const last = await fixture.run(48, 1, pointsOf([time + 1, 3]))
    const merged = await fixture.merge([first, last], [], pointsMin)
    expect(fixture.points([merged])).toEqual([
      [time, 2],
      [time + 1, 3],
    ])
  },
)

test('storing a day again does not hide a point of a run that is not merged', async () => {
  const fixture = await Fixture.open()
  await fixture.block(1, pointsOf([time, 1], [time + 9, 1]))
  const between = await fixture.run(2, 0, pointsOf([time, 2]))
  const late = await fixture.run(3, 0, pointsOf([time + 5, 3]))
  await fixture.merge([late], [between], 1)
  expect(fixture.points([between])).toEqual([
    [time, 2],
    [time + 5, 3],
    [time + 9, 1],
  ])
})

test('a merge adds points to a block that an earlier merge of smaller runs stored under the same sequence', async () => {
  const fixture = await Fixture.open()
  const few = await fixture.run(1, 1, pointsOf([time + 9, 1]))
  await fixture.block(2, pointsOf([time, 2], [time + 1, 2]))
  const last = await fixture.run(2, 1, pointsOf())
  await fixture.merge([few, last], [], 1)
  expect(fixture.points([])).toEqual([
    [time, 2],
    [time + 1, 2],
    [time + 9, 1],
  ])
})

test('a read finds the points of a day that was stored again after its summary was read', async () => {
  const fixture = await Fixture.open()
  await fixture.block(1, pointsOf([time, 1]))
  await fixture.block(2, pointsOf([time + 9, 2]))
  const before = fixture.blocks()
  await fixture.block(3, pointsOf([time + 5, 3]))
  expect(before).not.toEqual(fixture.blocks())
  expect(fixture.points([], before)).toEqual([
    [time, 1],
    [time + 5, 3],
    [time + 9, 2],
  ])
})
