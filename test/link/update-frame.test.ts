import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isUpdate, readItems, readUpdate } from '#link/device-frame'
import type { Items } from '#model/entry'
import { ShortUpdateMessage, UpdateMessage } from '#model/link-message'
import { Problem } from '#model/problem'
import { propertyTypeOf } from '#model/property-type'
import type { Shape } from '#model/shape'
import { Shapes } from '#store/shapes'
import { mutated } from '#test/attacks/fuzz/mutation'

const service = 'svc-1'
const typeNames = 'uint8 int64 float bool string binary uuid datetime uint16-array string-array'.split(' ')

const shape: Shape = new Shapes(() => undefined).intern(
  service,
  typeNames.map((name, index) => {
    const type = propertyTypeOf(name)
    if (!type) throw new Error(`${name} is not a type`)
    return { propId: index * 10, type, modifier: 0 }
  }),
)

/** The items by the schemas and types, or undefined. */
function bySchema(frame: unknown): Items | undefined {
  const items: unknown[] = []
  const put = (propId: number, value: unknown, error: unknown): boolean => {
    const index = shape.indexOf.get(propId)
    if (index === undefined) return false
    const state = error === undefined ? shape.properties[index]?.type.accept(value) : { error }
    items.push(index, state)
    return state !== undefined
  }
  if (Array.isArray(frame)) {
    const parsed = ShortUpdateMessage.safeParse(frame)
    if (!parsed.success || parsed.data[3] !== 0) return undefined
    const pairs = parsed.data[4]
    for (let at = 0; at < pairs.length; at += 2) {
      const value = pairs[at + 1] as { e?: unknown } | null
      const isError =
        typeof value === 'object' && value !== null && typeof value.e === 'string' && value.e.length <= 1_024
      if (!put(pairs[at] as number, value, isError ? value.e : undefined)) return undefined
    }
    return items as unknown as Items
  }
  const parsed = UpdateMessage.safeParse(frame)
  if (!parsed.success || parsed.data.serviceIdentifier !== service) return undefined
  for (const { propId, value, error } of parsed.data.updates) if (!put(propId, value, error)) return undefined
  return items as unknown as Items
}

/** The items by the fast reader, or undefined. */
function byHand(frame: unknown): Items | undefined {
  if (!isUpdate(frame)) return undefined
  const read = readUpdate(frame)
  if (read instanceof Problem) return undefined
  if (read.isShort ? read.service !== 0 : read.service !== service) return undefined
  const items = readItems(read, shape)
  return items instanceof Problem ? undefined : items
}

const goodValue = fc.oneof(
  fc.integer({ min: 0, max: 255 }),
  fc.maxSafeInteger(),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.string({ unit: 'grapheme', maxLength: 10 }),
  fc.base64String({ maxLength: 12 }),
  fc.uuid(),
  fc.array(fc.integer({ min: -5, max: 70_000 }), { maxLength: 4 }),
  fc.array(fc.string({ unit: 'grapheme', maxLength: 4 }), { maxLength: 4 }),
)
/** Any value of JSON or msgpack. */
const strange = fc.oneof(
  fc.constantFrom(0, -0, -1, 0.5, 1e21, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 32, 2 ** 53),
  fc.constantFrom(null, undefined, '', 'U', [], {}, new Uint8Array(3)),
  fc.constantFrom({ e: 'x' }, { e: 5 }, { e: '' }, { error: 'x' }, { e: 'x'.repeat(1_025) }, { value: 1 }),
  goodValue,
)
const propId = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(...typeNames.map((_, index) => index * 10)) },
  { weight: 1, arbitrary: strange },
)
const flakeAddress = fc.integer({ min: 1, max: 2 ** 32 - 1 })
const seq = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const timestamp = fc.integer({ min: 0, max: 8_640_000_000_000_000 })

/** Mostly values that fit a property of the shape. */
const matching = propId.chain((id) => {
  const index = shape.indexOf.get(id as number)
  const name = index === undefined ? undefined : typeNames[index]
  const good: Record<string, fc.Arbitrary<unknown>> = {
    uint8: fc.integer({ min: 0, max: 255 }),
    int64: fc.maxSafeInteger(),
    float: fc.float({ noNaN: true, noDefaultInfinity: true }),
    bool: fc.boolean(),
    string: fc.string({ unit: 'grapheme', maxLength: 10 }),
    binary: fc.uint8Array({ maxLength: 5 }),
    uuid: fc.uuid(),
    datetime: fc.integer(),
    'uint16-array': fc.array(fc.integer({ min: 0, max: 65_535 }), { maxLength: 3 }),
    'string-array': fc.array(fc.string({ unit: 'grapheme', maxLength: 4 }), { maxLength: 3 }),
  }
  const value = name === undefined ? strange : (good[name] ?? strange)
  return fc.tuple(fc.constant(id), fc.oneof({ weight: 12, arbitrary: value }, { weight: 1, arbitrary: strange }))
})
const items = fc.array(matching, { minLength: 1, maxLength: 5 })

const short = fc
  .tuple(flakeAddress, seq, items, fc.option(timestamp, { nil: undefined }))
  .map(([flakeAddress, seq, items, timestamp]): unknown[] => {
    const frame = ['U', flakeAddress, seq, 0, items.flat()]
    return timestamp === undefined ? frame : [...frame, timestamp]
  })

const long = fc
  .tuple(flakeAddress, seq, items, fc.option(timestamp, { nil: undefined }), fc.boolean())
  .map(([flakeAddress, seq, items, timestamp, isError]) => {
    const updates = items.map(([propId, value], index) =>
      isError && index === 0 ? { propId, error: String(value) } : { propId, value },
    )
    return {
      type: 'UPDATE',
      flakeAddress,
      seq,
      serviceIdentifier: service,
      updates,
      ...(timestamp !== undefined && { timestamp }),
    }
  })

const anyFrame = fc.oneof<fc.Arbitrary<unknown>[]>(short, long).chain((frame) => mutated(frame, strange))

test('the hand-written check of UPDATE accepts the frames that the schemas and types accept, and reads the same items', () => {
  let taken = 0
  fc.assert(
    fc.property(anyFrame, (frame) => {
      const expected = bySchema(frame)
      expect(byHand(frame)).toEqual(expected)
      if (expected) taken++
    }),
    { numRuns: 800 },
  )
  // Neither side refuses nearly all frames.
  expect(taken).toBeGreaterThan(100)
})

test('a 64-bit integer beyond exact numbers is valid for INT64 only', () => {
  expect(byHand(['U', 5, 7, 0, [0, 255, 10, 2n ** 63n - 1n, 20, 3], 9])).toEqual([
    0,
    255,
    1,
    '9223372036854775807',
    2,
    3,
  ])
  expect(byHand(['U', 2n ** 53n, 1, 0, [0, 1]])).toBeUndefined()
})

const goodLong = {
  type: 'UPDATE',
  flakeAddress: 1,
  seq: 1,
  serviceIdentifier: service,
  updates: [{ propId: 0, value: 1 }],
}
const pairsOf = (count: number) => Array.from({ length: count * 2 }, (_, at) => (at % 2 === 0 ? 0 : 1))

test.each([
  ['seq 0', ['U', 1, 0, 0, [0, 1]], 'bad_request'],
  ['address 0', ['U', 0, 1, 0, [0, 1]], 'bad_request'],
  ['no updates', ['U', 1, 1, 0, []], 'bad_request'],
  ['a property without a value', ['U', 1, 1, 0, [0]], 'bad_request'],
  ['too many pairs', ['U', 1, 1, 0, pairsOf(1_025)], 'bad_request'],
  ['too few elements', ['U', 1, 1, 0], 'bad_request'],
  ['too many elements', ['U', 1, 1, 0, [0, 1], 1, 1], 'bad_request'],
  ['a service index above 63', ['U', 1, 1, 64, [0, 1]], 'bad_request'],
  ['a time as text', ['U', 1, 1, 0, [0, 1], '2024-01-01'], 'bad_request'],
  ['an undeclared property', ['U', 1, 1, 0, [1, 1]], 'property_unknown'],
  ['a property id as text', ['U', 1, 1, 0, ['0', 1]], 'bad_request'],
  ['a value of another type', ['U', 1, 1, 0, [0, 256]], 'value_bad'],
  ['a long frame without a service', { ...goodLong, serviceIdentifier: undefined }, 'bad_request'],
  ['a long frame without updates', { ...goodLong, updates: [] }, 'bad_request'],
  ['neither value nor error', { ...goodLong, updates: [{ propId: 0 }] }, 'bad_request'],
  ['both value and error', { ...goodLong, updates: [{ propId: 0, value: 1, error: 'x' }] }, 'bad_request'],
  ['an error that is not a text', { ...goodLong, updates: [{ propId: 0, error: 5 }] }, 'bad_request'],
  ['an update that is not an object', { ...goodLong, updates: [5] }, 'bad_request'],
])('%s is refused with its code', (_, frame, code) => {
  const read = readUpdate(frame as never)
  const problem = read instanceof Problem ? read : readItems(read, shape)
  expect(problem).toBeInstanceOf(Problem)
  expect((problem as Problem).code).toBe(code)
})
