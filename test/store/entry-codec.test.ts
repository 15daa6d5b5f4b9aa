import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Entry, Reported } from '#model/entry'
import { contentOf, type Shape } from '#model/shape'
import { ChunkPacker, chunkEntriesMax, hashNames, headOf, replayChunk, unpackChunk } from '#store/chunk'
import { EntryReader, EntryWriter, packEntry, readEntry } from '#store/entry-codec'
import { keys } from '#store/key-space'
import { textHash } from '#store/msgpack-reader'
import { pack, packRecord, unpack } from '#store/record-codec'
import { Shapes, shapeFormat } from '#store/shapes'
import { forAll } from '#test/kit/for-all'
import { deviceName, entry, entryKinds, entryOf, shape as shapeArbitrary } from '#test/store/entry-arbitrary'
import { packChunk } from '#test/store/pack-chunk'

/** Shapes as a restarted process finds them: by id. */
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

describe('an entry reads back as written', () => {
  test.each(entryKinds)('%s', (kind) => {
    forAll([entryOf[kind] as fc.Arbitrary<Entry>], 200, (original) => {
      expect(throughChunk([original])).toStrictEqual([original])
    })
  })

  test('among others, in order, each with its own shape', () => {
    forAll([fc.array(entry, { minLength: 1, maxLength: 30 })], 100, (entries) => {
      expect(throughChunk(entries)).toStrictEqual(entries)
    })
  })

  test('with the same interned shape object', () => {
    forAll([entryOf.reported], (original) => {
      const shapes = storedShapes([original])
      const known = shapes.byId(original.shape.id)
      const [back] = unpackChunk(1, packChunk([original], 1, 0), shapes).events
      expect(back).toMatchObject({ shape: known })
      expect((back as { shape: unknown }).shape).toBe(known)
      expect(shapes.intern(known.serviceIdentifier, known.properties)).toBe(known)
    })
  })
})

test('an entry omits an equal timestamp, a continued session, and empty alarms and throttles', () => {
  const places = { placeOf: () => 0, shapeAt: () => shape }
  const shape = new Shapes(() => undefined).intern('svc', [])
  const report = {
    kind: 'reported',
    device: 'A',
    flakeAddress: 1,
    shape,
    at: 5,
    timestamp: 5,
    seq: 2,
    items: [],
  } as const
  const packed = (entry: Entry) => {
    const writer = new EntryWriter()
    packEntry(entry, places, writer)
    return unpack(writer.written)
  }
  const head = [1, 'A', 1, 0, 5]
  const alarms = ['2Vb7qYx9Kd', 5, '5Kd9tVw3Cx', 0]
  const throttles = ['6Hn3wRt5Mz/once', 5]
  const session = 's'
  for (const [more, timestamp, ...rest] of [
    [{}, null],
    [{ timestamp: 4, session }, 4, session],
    [{ alarms }, null, null, alarms],
    [{ session, alarms }, null, session, alarms],
    [{ throttles }, null, null, null, throttles],
    [{ session, alarms, throttles }, null, session, alarms, throttles],
  ] as const) {
    expect(packed({ ...report, ...more })).toEqual([...head, timestamp, 2, [], ...rest])
  }
})

test('fields that a newer release appends to a report are passed over', () => {
  const shape = new Shapes(() => undefined).intern('svc', [])
  const places = { placeOf: () => 0, shapeAt: () => shape }
  const bytes = Buffer.concat([
    pack([1, 'A', 1, 0, 5, null, 2, [], null, null, null, { of: 'a newer release' }]),
    pack([4, 'B', 2, 6]),
  ])
  const reader = new EntryReader()
  const read = reader.whole(bytes, () => [readEntry(reader, places), readEntry(reader, places)])
  expect(read).toMatchObject([
    { kind: 'reported', device: 'A', items: [] },
    { kind: 'device_added', device: 'B' },
  ])
})

describe('the hand-written encoder writes the bytes of the general one', () => {
  const shape = fc.sample(shapeArbitrary, { numRuns: 1, seed: 1 })[0] as Shape
  const integer = fc.oneof(
    fc.constantFrom(...[0, 0x1f, 0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff].flatMap((edge) => [edge, edge + 1])),
    fc.constantFrom(...[-1, -0x20, -0x80, -0x8000, -0x80000000].flatMap((edge) => [edge, edge - 1])),
    fc.integer(),
    fc.maxSafeInteger(),
  )
  const number = fc.oneof(integer, fc.double({ noNaN: true, noDefaultInfinity: true })).map((value) => value + 0)
  const item = fc.oneof(
    { weight: 20, arbitrary: number },
    { weight: 1, arbitrary: fc.constantFrom('text', true, [0.5]) },
  )
  const reported = fc.record({
    kind: fc.constant('reported' as const),
    device: fc.oneof(deviceName, fc.stringMatching(/^[A-Z]{0,64}$/), fc.constantFrom('É', 'A'.repeat(256))),
    flakeAddress: fc.integer({ min: 1, max: 0xffffffff }),
    shape: fc.constant(shape),
    at: number,
    timestamp: number,
    seq: integer,
    items: fc.array(item, { maxLength: 40 }),
  })
  // Each with the fields before it, of which any may be null.
  const begun = fc.constantFrom({}, { session: 'a session' })
  const waits = fc.constantFrom({}, { alarms: ['2Vb7qYx9Kd', 5, '5Kd9tVw3Cx', 0] })
  const passed = fc.constantFrom({}, { throttles: ['6Hn3wRt5Mz/once', 5] })

  test('for numbers, names and lengths of every size', () => {
    const rare = fc.tuple(reported, begun, waits, passed).map(([report, ...more]) => Object.assign({}, report, ...more))
    const any: fc.Arbitrary<Reported> = fc.oneof({ weight: 3, arbitrary: reported }, rare)
    forAll([fc.array(any, { maxLength: 20 }), fc.nat(600)], 200, (entries, place) => {
      const writer = new EntryWriter()
      const places = { placeOf: () => place, shapeAt: () => shape }
      const parts = entries.map(({ device, flakeAddress, at, timestamp, seq, items, session, alarms, throttles }) => {
        const more = [session, alarms, throttles]
        const stored = more.slice(0, more.findLastIndex((field) => field !== undefined) + 1)
        const fields = [1, device, flakeAddress, place, at, timestamp === at ? null : timestamp, seq, items]
        return pack([...fields, ...stored.map((field) => field ?? null)])
      })
      for (const entry of entries) packEntry(entry, places, writer)
      expect(Buffer.from(writer.written).toString('hex')).toBe(Buffer.concat(parts).toString('hex'))
    })
  })

  test('for more bytes than its first buffer', () => {
    const writer = new EntryWriter()
    const items = Array.from({ length: 2_000 }, (_, index) => index / 3)
    const entry = { kind: 'reported', device: 'A', flakeAddress: 1, shape, at: 1, timestamp: 1, seq: 1, items } as const
    const places = { placeOf: () => 0, shapeAt: () => shape }
    for (let count = 0; count < 20; count++) packEntry(entry, places, writer)
    const whole = unpack(Buffer.concat([Buffer.from([0xdc, 0, 20]), writer.written])) as unknown[][]
    expect(whole.map((packed) => packed[7])).toEqual(new Array(20).fill(items))
  })
})

test('a chunk with changed bytes is refused, or read as the general decoder reads it', () => {
  const change = fc.record({ place: fc.nat(2_000), byte: fc.integer({ min: 0, max: 255 }), isCut: fc.boolean() })
  const few = fc.array(fc.oneof(entryOf.reported, entry), { minLength: 1, maxLength: 3 })
  const changes = fc.array(change, { minLength: 1, maxLength: 2 })
  forAll([few, changes], 750, (entries, changes) => {
    let bytes: Buffer = Buffer.from(packChunk(entries, 1, 0))
    for (const { place, byte, isCut } of changes) {
      const at = 21 + (place % (bytes.length - 21))
      if (isCut && place % 7 === 0 && at > 22) bytes = bytes.subarray(0, at)
      else bytes[at] = byte
    }
    let read: readonly Entry[]
    try {
      read = unpackChunk(1, bytes, storedShapes(entries)).events
    } catch {
      return
    }
    const [, packed] = unpack(bytes.subarray(21)) as [string[], unknown[][]]
    expect(packed).toHaveLength(read.length)
    for (const [index, [code, device, flakeAddress, , at, timestamp, seq, items]] of packed.entries()) {
      if (code === 1)
        expect(read[index]).toMatchObject({ device, flakeAddress, at, timestamp: timestamp ?? at, seq, items })
    }
    const again = unpackChunk(1, packChunk(read, 1, 0), storedShapes(read))
    expect(again.events).toStrictEqual(read)
  })
})

test('a replay reads the entries of a chunk, except those that a woken activation already has', () => {
  const known = fc.record({ id: deviceName, lastOffset: fc.nat(25), isMistaken: fc.boolean() })
  forAll(
    [fc.array(fc.oneof(entryOf.reported, entry), { minLength: 1, maxLength: 20 }), known, fc.nat(25)],
    150,
    (drawn, device, from) => {
      // Half of the entries belong to one device.
      const entries = drawn.map((each, index) =>
        index % 2 === 0 && 'device' in each ? { ...each, device: device.id } : each,
      )
      const bytes = packChunk(entries, 1, 0)
      const replayed: (readonly [Entry, number])[] = []
      const held: number[] = []
      entries.forEach((each, index) => {
        const isReport = each.kind === 'reported' && each.device === device.id && !device.isMistaken
        if (isReport && index + 1 <= device.lastOffset) held.push(index + 1)
      })
      const count = replayChunk(1, bytes, storedShapes(entries), from, {
        find: (hash) =>
          hash === textHash(device.id, 0) ? { ...device, id: device.isMistaken ? 'other' : device.id } : undefined,
        report: (found, each, offset) => {
          expect(each).toMatchObject({ kind: 'reported', device: found.id })
          replayed.push([each, offset])
        },
        entry: (each, offset) => replayed.push([each, offset]),
      })
      expect(count).toBe(entries.length)
      const all = entries.map((each, index) => [each, index + 1] as const)
      expect(replayed).toStrictEqual(all.filter(([, offset]) => offset >= from && !held.includes(offset)))
    },
  )
})

test('the names of a chunk are read as hashes, and a damaged chunk yields a part of them', () => {
  forAll([fc.array(entry, { minLength: 1, maxLength: 20 }), fc.nat()], 100, (entries, cut) => {
    const bytes = packChunk(entries, 1, 0)
    const nameOf = (each: Entry) => {
      if ('device' in each) return each.device
      if ('service' in each) return each.service
      return 'user' in each ? each.user : each.alarm
    }
    const expected = entries.map((each) => textHash(nameOf(each), 0))
    const hashes: number[] = []
    hashNames(bytes, (hash) => hashes.push(hash))
    expect(hashes).toEqual(expected)
    const some: number[] = []
    hashNames(bytes.subarray(0, 21 + (cut % (bytes.length - 21))), (hash) => some.push(hash))
    expect(expected.slice(0, some.length)).toEqual(some)
  })
})

test('a kind of entry from a newer release is refused with an error that names the reason', () => {
  const places = { placeOf: () => 0, shapeAt: () => new Shapes(() => undefined).intern('svc', []) }
  const read = () => new EntryReader().whole(pack([99, 'A']), (reader) => readEntry(reader, places))
  expect(read).toThrow('entries of kind 99 were written by a newer release')
})

describe('a chunk is damaged', () => {
  const entries = fc.sample(entry, { numRuns: 20, seed: 5 })
  const whole = packChunk(entries, 1, 0)
  const shapes = storedShapes(entries)

  test.each([
    ['if it is empty', Buffer.alloc(0)],
    ['if it is shorter than its head', whole.subarray(0, 20)],
    ['if it has another version', Buffer.concat([Buffer.of(2), whole.subarray(1)])],
  ])('%s', (_, bytes) => {
    expect(() => headOf(bytes)).toThrow(expect.objectContaining({ code: 'damaged' }))
  })

  test('if it holds fewer entries than its head counts', () => {
    const fewer = Buffer.from(whole)
    fewer.writeUInt32LE(21, 17)
    expect(() => unpackChunk(1, fewer, shapes)).toThrow('a chunk of the stream cannot be read')
  })

  test('if it names a shape that it does not list', () => {
    const body = pack([[], [[1, 'A', 1, 0, 5, null, 2, []]]])
    const head = Buffer.from(whole.subarray(0, 21))
    head.writeUInt32LE(1, 17)
    expect(() => unpackChunk(1, Buffer.concat([head, body]), shapes)).toThrow(/does not list/)
  })

  test('if a shape is not stored', () => {
    const [original] = fc.sample(entryOf.reported, { numRuns: 1, seed: 1 }) as [Entry]
    expect(() => unpackChunk(1, packChunk([original], 1, 0), new Shapes(() => undefined))).toThrow(
      /is named by an entry and not stored/,
    )
  })

  test('and throws, or returns all entries, wherever it is cut', () => {
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

test('a chunk of many entries stores the name of a shape once', () => {
  const count = 100
  const [original] = fc.sample(entryOf.reported, { numRuns: 1, seed: 3 }) as [Entry]
  const one = packChunk([original], 1, 0).length
  const many = packChunk(new Array<Entry>(count).fill(original), 1, 0).length
  expect(many).toBeLessThan(one * count)
})

test.each([
  ['many entries', chunkEntriesMax * 2, 1, chunkEntriesMax],
  ['large entries', 10, 60_000, 5],
])('%s are split into several chunks', (_, count, characters, inOne) => {
  const entry: Entry = { kind: 'meta_deleted', device: 'A', at: 1, key: 'x'.repeat(characters) }
  const packer = new ChunkPacker(() => {})
  packer.add(Array.from({ length: count }, () => entry))
  const chunks = [...packer.chunks(1, 0, 1, (_, length) => Buffer.allocUnsafe(length))]
  const shapes = new Shapes(() => undefined)
  const read = chunks.map(({ firstOffset, bytes }) => [firstOffset, unpackChunk(firstOffset, bytes, shapes).events])
  expect(read).toEqual([1, 1 + inOne].map((first) => [first, new Array<Entry>(inOne).fill(entry)]))
})
