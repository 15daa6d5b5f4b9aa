import { pack, unpack } from 'msgpackr'
import type { ProtocolName } from '#test/attacks/socket-attack'

/** Autobahn 9.7 and 9.8: a client that waits for each answer before it sends the next message. */
export interface Dialogue {
  /** The first message, whose answer `message` gets as `opened`. */
  readonly opening?: Buffer
  /** A message with a text of this length. `number` counts from 1. */
  message(number: number, length: number, opened: Buffer | undefined): Buffer
  isAnswer(payload: Buffer, number: number): boolean
}

const hello = (deviceIdentifier: string) => ({
  type: 'HELLO',
  deviceIdentifier,
  services: [{ serviceIdentifier: 's', properties: [{ propId: 1, type: 'STRING' }] }],
})
const update = (flakeAddress: number, seq: number, length: number) => ({
  type: 'UPDATE',
  flakeAddress,
  seq,
  serviceIdentifier: 's',
  updates: [{ propId: 1, value: 'x'.repeat(length) }],
})
const isAcknowledged = (answer: Answer, number: number) => answer.type === 'ACK' && answer.seq === number

interface Answer {
  readonly type: string
  readonly flakeAddress: number
  readonly seq: number
}
const inJson = (payload: Buffer | undefined) => JSON.parse(String(payload)) as Answer
const inMsgpack = (payload: Buffer | undefined) => unpack(payload ?? Buffer.alloc(0)) as Answer

export const dialogues: Readonly<Record<ProtocolName, Dialogue>> = {
  events: {
    message: (_, length) => Buffer.from(JSON.stringify({ type: 'PING', text: 'x'.repeat(length) })),
    isAnswer: (payload) => inJson(payload).type === 'PONG',
  },
  'link in JSON': {
    opening: Buffer.from(JSON.stringify(hello('JSON-1000'))),
    message: (number, length, opened) =>
      Buffer.from(JSON.stringify(update(inJson(opened).flakeAddress, number, length))),
    isAnswer: (payload, number) => isAcknowledged(inJson(payload), number),
  },
  'link in msgpack': {
    opening: pack(hello('MSGPACK-1000')),
    message: (number, length, opened) => pack(update(inMsgpack(opened).flakeAddress, number, length)),
    isAnswer: (payload, number) => isAcknowledged(inMsgpack(payload), number),
  },
}
