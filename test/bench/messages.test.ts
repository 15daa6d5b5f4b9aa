import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MessageCounter, MessageReader } from '#bench/load/messages'
import { type ProtocolName, protocols } from '#bench/load/peer-protocols'

/** A frame as a server sends it: unmasked. RFC 6455 §5.2. */
function frame(opcode: number, text: string): string {
  const { length } = text
  const head = length < 126 ? [length] : [126, length >> 8, length & 0xff]
  return String.fromCharCode(0x80 | opcode, ...head) + text
}

/** MQTT 3.1.1 §2.2.3. */
function packet(head: number, body: string): string {
  const { length } = body
  const sizes = length < 128 ? [length] : [(length & 0x7f) | 0x80, length >> 7]
  return String.fromCharCode(head, ...sizes) + body
}

const topic = 'devices/LOAD-0000001/changes'

/** What subscribers hear: a delivery of a text, and something else with what is answered to it. */
const heard: Readonly<Record<ProtocolName, { delivery: (text: string) => string; other: string; answer: string }>> = {
  own: { delivery: (text) => frame(1, text), other: frame(9, 'hey'), answer: '\x8a\x83\0\0\0\0hey' },
  websocket: { delivery: (text) => frame(1, text), other: frame(9, ''), answer: '\x8a\x80\0\0\0\0' },
  'socket.io': {
    delivery: (text) => frame(1, `42["change",${text}]`),
    other: frame(1, '2'),
    answer: '\x81\x81\0\0\0\x003',
  },
  mqtt: {
    delivery: (text) => packet(0x30, `\0${String.fromCharCode(topic.length)}${topic}${text}`),
    other: '\xd0\0',
    answer: '',
  },
  nats: {
    delivery: (text) => `MSG devices.LOAD-0000001.changes 1 ${text.length}\r\n${text}\r\n`,
    other: 'PING\r\n',
    answer: 'PONG\r\n',
  },
  redis: {
    delivery: (text) =>
      `*4\r\n$8\r\npmessage\r\n$17\r\ndevices.*.changes\r\n$28\r\n${topic}\r\n$${text.length}\r\n${text}\r\n`,
    other: '',
    answer: '',
  },
}

const names = Object.keys(heard) as ProtocolName[]

test.each(names)('deliveries of %s are counted and read however they are cut', (name) => {
  const { delivery, other, answer } = heard[name]
  const { lengthOf, answerTo } = protocols[name]
  fc.assert(
    fc.property(
      fc.array(fc.option(fc.integer({ min: 0, max: 1_000 }), { nil: undefined }), { maxLength: 8 }),
      fc.array(fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 2_000 })), { minLength: 1 }),
      (lengths, sizes) => {
        const texts = lengths.flatMap((length) => (length === undefined ? [] : [`"${'x'.repeat(length)}"`]))
        const others = lengths.length - texts.length
        let next = 0
        const all = lengths.map((length) => (length === undefined ? other : delivery(texts[next++] as string))).join('')
        const bytes = Buffer.from(all, 'latin1')
        const answers: string[][] = [[], []]
        const answering = (into: number) => (from: Buffer, at: number, end: number) => {
          const said = answerTo?.(from, at, end)
          if (said) answers[into]?.push(Buffer.from(said).toString('latin1'))
        }
        const read: string[] = []
        const counter = new MessageCounter(lengthOf, answering(0))
        const reader = new MessageReader(
          lengthOf,
          (from, at, end) => read.push(from.toString('latin1', at, end)),
          answering(1),
        )
        let counts = [0, 0]
        for (let at = 0, piece = 0; at < bytes.length; piece++) {
          const end = at + (sizes[piece % sizes.length] as number)
          const [counted = 0, readNow = 0] = counts
          counts = [counted + counter.push(bytes.subarray(at, end)), readNow + reader.push(bytes.subarray(at, end))]
          at = end
        }
        expect(counts).toEqual([texts.length, texts.length])
        expect(read).toEqual(texts.map(delivery))
        const expected = answer === '' ? [] : Array.from({ length: others }, () => answer)
        expect(answers).toEqual([expected, expected])
      },
    ),
    { numRuns: 60 },
  )
})
