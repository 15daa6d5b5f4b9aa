import { describe, expect, test } from 'vitest'
import { anonymous } from '#access/built-in-callers'
import type { Call } from '#http/call'
import type { RouteContext } from '#routes/context'
import { pageOf, streamObjects } from '#routes/replies'
import { namesOf, type Pages } from '#runtime/storage'
import { world } from '#test/http/http-fixture'
import { ManualWorld } from '#test/runtime/manual-world'
import { during } from '#test/runtime/runtime-fixture'

/** The part of the server that a long answer uses, without pending writes. */
const context = { world, system: { gate: { closedCount: 0, whenStored: async () => {} } } } as unknown as RouteContext
const frame = { before: '[', after: ']' }
const thousand = Array.from({ length: 1_000 }, (_, index) => `N${index}`)
const changed = { code: 'overloaded', message: 'the access rights changed during the answer: try again' }

/** A caller that may read for this number of checks. */
function callerFor(times: number) {
  let asked = 0
  return { ...anonymous, isCurrent: () => asked++ < times }
}

/** Pages of these names, which remember whether they were closed. */
function recordedPages(names: readonly string[]): Pages & { isClosed: boolean } {
  const all = namesOf(names)
  const given = {
    isClosed: false,
    next: (countMax: number) => all.next(countMax),
    async close() {
      given.isClosed = true
    },
  }
  return given
}

async function piecesOf(chunks: AsyncIterable<string>): Promise<{ pieces: string[]; error: unknown }> {
  const pieces: string[] = []
  try {
    for await (const piece of chunks) pieces.push(piece)
  } catch (error) {
    return { pieces, error }
  }
  return { pieces, error: undefined }
}

const long = (name: string) => JSON.stringify(name.padEnd(1_000, '.'))

test('an answer is complete while the access of its caller is unchanged', async () => {
  const names = recordedPages(thousand)
  const { pieces, error } = await piecesOf(streamObjects(context, anonymous, names, frame, long))
  expect([error, names.isClosed, pieces.length > 10]).toEqual([undefined, true, true])
  expect(JSON.parse(pieces.join(''))).toHaveLength(1_000)
})

test.each([0, 1, 2, 5, 12])(
  'an answer ends after %i slices if the access of its caller changes then',
  async (times) => {
    const names = recordedPages(thousand)
    const { pieces, error } = await piecesOf(streamObjects(context, callerFor(times), names, frame, long))
    expect(error).toMatchObject(changed)
    expect(names.isClosed).toBe(true)
    expect(pieces.length).toBeLessThanOrEqual(times)
    expect(pieces.join('').endsWith(']')).toBe(false)
  },
)

test('an answer ends with an error if access changes during its last write', async () => {
  // One slice, and then the end.
  const { pieces, error } = await piecesOf(streamObjects(context, callerFor(1), namesOf(['A']), frame, long))
  expect([pieces, error]).toMatchObject([[], changed])
  const { pieces: whole } = await piecesOf(streamObjects(context, callerFor(2), namesOf(['A']), frame, long))
  expect(whole).toHaveLength(1)
})

describe('a page', () => {
  const call = (limit: number, caller = anonymous) =>
    ({ caller, query: { limit }, target: { path: '/', query: '' } }) as unknown as Call<unknown, { limit: number }>
  const still = new ManualWorld()
  const inStill = { world: still } as unknown as RouteContext

  test('stops its search when access changes', async () => {
    const names = recordedPages(thousand)
    const refused = pageOf(inStill, call(1_000, callerFor(1)), names, () => true)
    await expect(during(still, refused)).rejects.toMatchObject(changed)
    expect(names.isClosed).toBe(true)
    const page = pageOf(inStill, call(1_000, callerFor(2)), namesOf(thousand), () => true)
    expect(await (await during(still, page)).names.next(2_000)).toHaveLength(1_000)
  })

  test('yields to the loop every two milliseconds, however few names match', async () => {
    const slow = new ManualWorld()
    const turnTimes: number[] = []
    let sinceTurn = 0
    const soon = slow.soon.bind(slow)
    slow.soon = (task) =>
      soon(() => {
        turnTimes.push(sinceTurn)
        sinceTurn = 0
        task()
      })
    const isCounted = (name: string) => {
      sinceTurn++
      slow.spend(0.5)
      return name === 'N999'
    }
    const page = await during(
      slow,
      pageOf({ world: slow } as unknown as RouteContext, call(10), namesOf(thousand), isCounted),
    )
    expect([await page.names.next(2), page.headers]).toEqual([['N999'], {}])
    expect([turnTimes.length > 200, Math.max(...turnTimes)]).toEqual([true, 4])
  })
})
