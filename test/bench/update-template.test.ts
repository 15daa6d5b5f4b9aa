import fc from 'fast-check'
import { Unpackr } from 'msgpackr'
import { describe, expect, test } from 'vitest'
import { FrameReader } from '#bench/load/frames'
import { firstPropId, numberOf, UpdateTemplate } from '#bench/load/update-template'
import { isUpdate, readItems, readUpdate } from '#link/update-frame'
import { ShortUpdateMessage } from '#model/link-message'
import { Problem } from '#model/problem'
import { propertyTypeOf } from '#model/property-type'
import { Shapes } from '#store/shapes'

const unpackr = new Unpackr({ useRecords: false })
const float = propertyTypeOf('float')
const propertiesMax = 20

const shape = new Shapes(() => undefined).intern(
  'service',
  Array.from({ length: propertiesMax }, (_, place) => {
    if (!float) throw new Error('there are no floats')
    return { propId: firstPropId + place, type: float, modifier: 0 }
  }),
)

interface Written {
  readonly flakeAddress: number
  readonly sequence: number
  readonly number: number
}

/** Frames as a link writes them, one behind the other, as messages. */
function messagesOf(changes: number, written: readonly Written[]): unknown[] {
  const template = new UpdateTemplate(changes)
  const bytes = Buffer.alloc(written.length * template.bytes, 0xee)
  written.forEach(({ flakeAddress, sequence, number }, place) => {
    template.write(bytes, place * template.bytes, flakeAddress, sequence, number)
  })
  // As a server's: the masking key is 0, so masked and plain payloads are the same.
  const messages: unknown[] = []
  const maskBytes = 4
  const isMasked = 0x80
  const reader = new FrameReader((heard, start, end) => messages.push(unpackr.unpack(heard.subarray(start, end))))
  for (let at = 0; at < bytes.length; at += template.bytes) {
    const frame = Buffer.from(bytes.subarray(at, at + template.bytes))
    const head = (frame[1] as number) === (isMasked | 126) ? 4 : 2
    expect((frame[1] as number) & isMasked).toBe(isMasked)
    expect(frame.subarray(head, head + maskBytes)).toEqual(Buffer.alloc(maskBytes))
    frame[1] = (frame[1] as number) & ~isMasked
    reader.push(Buffer.concat([frame.subarray(0, head), frame.subarray(head + maskBytes)]))
  }
  return messages
}

function messageOf(changes: number, { flakeAddress, sequence, number }: Written): unknown {
  const items = Array.from({ length: changes }, (_, place) => [
    firstPropId + place,
    (number + changes - 1 - place) / 100,
  ])
  return ['U', flakeAddress, sequence, 0, items.flat()]
}

const written = fc.record({
  flakeAddress: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
  sequence: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
  number: fc.nat({ max: 2 ** 40 }),
})

describe('an UPDATE made once and written often', () => {
  // 7 and 8: from 16 items on the array has a longer head. 10 and 11: from 126 bytes on the frame has.
  test.each([1, 2, 7, 8, 9, 10, 11, propertiesMax])('of %d changes is the message that was meant', (changes) => {
    fc.assert(
      fc.property(fc.array(written, { minLength: 1, maxLength: 4 }), (all) => {
        expect(messagesOf(changes, all)).toEqual(all.map((each) => messageOf(changes, each)))
      }),
    )
  })

  test.each([1, 10])('of %d changes is one that the server takes', (changes) => {
    fc.assert(
      fc.property(written, (one) => {
        const [message] = messagesOf(changes, [one])
        expect(ShortUpdateMessage.safeParse(message).success).toBe(true)
        if (!isUpdate(message)) throw new Error('it is no UPDATE')
        const read = readUpdate(message)
        if (read instanceof Problem) throw read
        expect(read).toMatchObject({ flakeAddress: one.flakeAddress, seq: one.sequence, service: 0, isShort: true })
        const items = readItems(read, shape)
        if (items instanceof Problem) throw items
        expect(items).toHaveLength(changes * 2)
      }),
    )
  })
})

test('the last value tells the number again', () => {
  fc.assert(
    fc.property(written, fc.integer({ min: 1, max: propertiesMax }), (one, changes) => {
      const [message] = messagesOf(changes, [one]) as [[string, number, number, number, number[]]]
      expect(numberOf(message[4].at(-1) as number)).toBe(one.number)
      // As a dashboard reads it: from a text.
      expect(numberOf(Number(JSON.stringify(message[4].at(-1))))).toBe(one.number)
    }),
  )
})
