import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Entry } from '#model/entry'
import { contentOf } from '#model/shape'
import { StorageFailure } from '#runtime/storage'
import { chunkEntriesMax, headOf, packChunk, unpackChunk } from '#store/chunk'
import { packEntry, unpackEntry } from '#store/entry-codec'
import { keys } from '#store/keys'
import { pack, packRecord } from '#store/record-codec'
import { Shapes, shapeFormat } from '#store/shapes'
import { entry, entryKinds, entryOf } from '#test/store/entry-arbitrary'

/** Shapes as a process that starts anew finds them: by id alone. */
function storedShapes(entries: readonly Entry[]): Shapes {
  const stored = new Map<string, Uint8Array>()
  for (const each of entries) {
    if (!('shape' in each)) continue
    const { id, serviceIdentifier, properties } = each.shape
    stored.set(keys.shape(id), packRecord(shapeFormat, contentOf(serviceIdentifier, properties)))
  }
  return new Shapes((key) => stored.get(key))
}

function throughChunk(entries: readonly Entry[], firstOffset = 7): readonly Entry[] {
  const bytes = packChunk(entries, 1_700_000_000_000, 12_345)
  expect(headOf(bytes)).toEqual({ time: 1_700_000_000_000, bytesBefore: 12_345, count: entries.length })
  const chunk = unpackChunk(firstOffset, bytes, storedShapes(entries))
  expect(chunk.firstOffset).toBe(firstOffset)
  return chunk.events
}

describe('an entry comes back as it was', () => {
  test.each(entryKinds)('%s', (kind) => {
    fc.assert(
      fc.property(entryOf[kind] as fc.Arbitrary<Entry>, (said) => {
        expect(throughChunk([said])).toStrictEqual([said])
      }),
      { numRuns: 200 },
    )
  })

  test('among others, in their order, each with its own shape', () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 30 }), (entries) => {
        expect(throughChunk(entries)).toStrictEqual(entries)
      }),
      { numRuns: 100 },
    )
  })

  test('through an interned shape: the very one, not another like it', () => {
    fc.assert(
      fc.property(entryOf.reported, (said) => {
        const shapes = storedShapes([said])
        const known = shapes.byId(said.shape.id)
        const [back] = unpackChunk(1, packChunk([said], 1, 0), shapes).events
        expect(back).toMatchObject({ shape: known })
        expect((back as { shape: unknown }).shape).toBe(known)
        expect(shapes.intern(known.serviceIdentifier, known.properties)).toBe(known)
      }),
    )
  })
})

test('the arrival is not written twice, and a session only where it begins', () => {
  const places = { placeOf: () => 0, shapeAt: () => shape }
  const shape = new Shapes(() => undefined).intern('svc', [])
  const said = {
    kind: 'reported',
    device: 'A',
    flakeAddress: 1,
    shape,
    at: 5,
    timestamp: 5,
    seq: 2,
    items: [],
  } as const
  expect(packEntry(said, places)).toEqual([1, 'A', 1, 0, 5, null, 2, []])
  expect(packEntry({ ...said, timestamp: 4, session: 's' }, places)).toEqual([1, 'A', 1, 0, 5, 4, 2, [], 's'])
})

test('a kind that a newer release made is refused, and says so', () => {
  const places = { placeOf: () => 0, shapeAt: () => new Shapes(() => undefined).intern('svc', []) }
  expect(() => unpackEntry([99, 'A'], places)).toThrow('entries of kind 99 were written by a newer release')
})

describe('a chunk that is not whole is damaged', () => {
  const entries = fc.sample(entry, { numRuns: 20, seed: 5 })
  const whole = packChunk(entries, 1, 0)
  const shapes = storedShapes(entries)

  test.each([
    ['empty', Buffer.alloc(0)],
    ['shorter than its head', whole.subarray(0, 20)],
    ['of another version', Buffer.concat([Buffer.of(2), whole.subarray(1)])],
  ])('%s', (_, bytes) => {
    expect(() => headOf(bytes)).toThrow(expect.objectContaining({ code: 'damaged' }))
  })

  test('when it holds fewer entries than it says', () => {
    const fewer = Buffer.from(whole)
    fewer.writeUInt32LE(21, 17)
    expect(() => unpackChunk(1, fewer, shapes)).toThrow(StorageFailure)
  })

  test('when it names a shape it does not list', () => {
    const body = pack([[], [[1, 'A', 1, 0, 5, null, 2, []]]])
    const head = Buffer.from(whole.subarray(0, 21))
    head.writeUInt32LE(1, 17)
    expect(() => unpackChunk(1, Buffer.concat([head, body]), shapes)).toThrow(/does not list/)
  })

  test('when a shape is not stored', () => {
    const [said] = fc.sample(entryOf.reported, { numRuns: 1, seed: 1 }) as [Entry]
    expect(() => unpackChunk(1, packChunk([said], 1, 0), new Shapes(() => undefined))).toThrow(
      /is named by an entry and not stored/,
    )
  })

  test('cut anywhere: it throws and never gives less than was put in', () => {
    for (let length = 0; length < whole.length; length += 7) {
      let given: readonly Entry[] | undefined
      try {
        given = unpackChunk(1, whole.subarray(0, length), shapes).events
      } catch {
        continue
      }
      expect(given).toStrictEqual(entries)
    }
  })
})

test('a full chunk of a fleet is small: names of shapes are there once', () => {
  const [said] = fc.sample(entryOf.reported, { numRuns: 1, seed: 3 }) as [Entry]
  const one = packChunk([said], 1, 0).length
  const many = packChunk(
    Array.from({ length: chunkEntriesMax }, () => said),
    1,
    0,
  ).length
  expect(many).toBeLessThan(one * chunkEntriesMax)
})
