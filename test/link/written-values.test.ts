import fc from 'fast-check'
import { Unpackr } from 'msgpackr'
import { describe, expect, test } from 'vitest'
import type { ServerFrame } from '#link/codec'
import { linkCodecs } from '#link/codecs'
import { timestampMsMax } from '#model/identifier'
import { float32Max, type PropertyType, type PropertyValue, propertyTypes } from '#model/property-type'
import { anyText } from '#test/kit/any-text'

const unpackr = new Unpackr({ useRecords: false, int64AsType: 'bigint' })

/** Stored values of each type. */
const integers = (min: number, max: number) => fc.integer({ min, max })
const wide = (min: bigint, max: bigint) =>
  fc.bigInt({ min, max }).map((value) => {
    const number = Number(value)
    return Number.isSafeInteger(number) ? number : String(value)
  })
const scalars: Readonly<Record<string, fc.Arbitrary<number | string | boolean>>> = {
  uint8: integers(0, 255),
  uint16: integers(0, 65_535),
  uint32: integers(0, 4_294_967_295),
  uint64: wide(0n, 2n ** 64n - 1n),
  int8: integers(-128, 127),
  int16: integers(-32_768, 32_767),
  int32: integers(-2_147_483_648, 2_147_483_647),
  int64: wide(-(2n ** 63n), 2n ** 63n - 1n),
  bool: fc.boolean(),
  uuid: fc.uuid(),
  float: fc.double({ min: -float32Max, max: float32Max, noNaN: true }).map((value) => value + 0),
  float64: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  datetime: fc.integer({ min: -timestampMsMax, max: timestampMsMax }),
  string: anyText(),
  binary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('base64')),
}

function valuesOf({ name, isArray }: PropertyType): fc.Arbitrary<PropertyValue> {
  const scalar = scalars[name.replace('-array', '')]
  if (!scalar) throw new Error(`${name} has no values`)
  return isArray ? fc.array(scalar, { maxLength: 20 }) : scalar
}

function writeFrame(type: PropertyType, value: PropertyValue): ServerFrame {
  const updates = [{ propId: 8192, type, value }]
  return { type: 'WRITE', flakeAddress: 5, id: 'w:1', serviceIdentifier: 'svc', updates }
}

/** The value in the frame, as a device with that protocol reads it. */
function received(protocol: 'json' | 'msgpack', type: PropertyType, value: PropertyValue): unknown {
  const frame = linkCodecs[`link.v1.${protocol}`].encode(writeFrame(type, value))
  const message = typeof frame === 'string' ? JSON.parse(frame) : unpackr.unpack(frame)
  expect(message).toEqual({
    type: 'WRITE',
    flakeAddress: 5,
    id: 'w:1',
    serviceIdentifier: 'svc',
    updates: [{ propId: 8192, value: expect.anything() }],
  })
  return message.updates[0].value
}

describe.each([...propertyTypes.values()].map((type) => [type.wireName, type] as const))('%s', (_, type) => {
  const isWide = /^(u?int64|datetime)/.test(type.name)

  test('is sent in JSON as stored', () => {
    fc.assert(
      fc.property(valuesOf(type), (value) => {
        expect(received('json', type, value)).toEqual(value)
      }),
    )
  })

  test('is sent in msgpack by its type, and equals the stored value when the device reports it', () => {
    fc.assert(
      fc.property(valuesOf(type), (value) => {
        const found = received('msgpack', type, value)
        expect(type.accept(found)).toEqual(value)
        const kept = [value].flat() as readonly (number | string | boolean)[]
        for (const [index, each] of ([found] as unknown[]).flat().entries()) {
          if (type.name === 'binary') expect(each).toEqual(Buffer.from(String(value), 'base64'))
          else if (!isWide) expect(each).toBe(kept[index])
          else {
            const number = BigInt(kept[index] as number | string)
            expect(BigInt(each as number | bigint)).toBe(number)
            // An integer is never sent as a double.
            const isShort = number >= -(2n ** 31n) && number < 2n ** 32n
            expect(typeof each).toBe(isShort ? 'number' : 'bigint')
          }
        }
      }),
    )
  })
})
