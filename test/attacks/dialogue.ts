import { pack, unpack } from 'msgpackr'
import type { SpokenName } from '#test/attacks/socket-attack'

/** 9.7 and 9.8 of the test suite of Autobahn: a client that waits for each answer before it goes on. */
export interface Dialogue {
  /** What must be answered first. */
  readonly opening?: Buffer
  /** With a text of so many signs. `number`: from 1. `opened`: the answer to `opening`. */
  message(number: number, signs: number, opened: Buffer | undefined): Buffer
  isAnswer(payload: Buffer, number: number): boolean
}

const hello = (deviceIdentifier: string) => ({
  type: 'HELLO',
  deviceIdentifier,
  services: [{ serviceIdentifier: 's', properties: [{ propId: 1, type: 'STRING' }] }],
})
const update = (flakeAddress: number, seq: number, signs: number) => ({
  type: 'UPDATE',
  flakeAddress,
  seq,
  serviceIdentifier: 's',
  updates: [{ propId: 1, value: 'x'.repeat(signs) }],
})
const isAcknowledged = (answer: Answer, number: number) => answer.type === 'ACK' && answer.seq === number

interface Answer {
  readonly type: string
  readonly flakeAddress: number
  readonly seq: number
}
const inJson = (payload: Buffer | undefined) => JSON.parse(String(payload)) as Answer
const inMsgpack = (payload: Buffer | undefined) => unpack(payload ?? Buffer.alloc(0)) as Answer

export const dialogues: Readonly<Record<SpokenName, Dialogue>> = {
  events: {
    message: (_, signs) => Buffer.from(JSON.stringify({ type: 'PING', text: 'x'.repeat(signs) })),
    isAnswer: (payload) => inJson(payload).type === 'PONG',
  },
  'link in JSON': {
    opening: Buffer.from(JSON.stringify(hello('JSON-1000'))),
    message: (number, signs, opened) => Buffer.from(JSON.stringify(update(inJson(opened).flakeAddress, number, signs))),
    isAnswer: (payload, number) => isAcknowledged(inJson(payload), number),
  },
  'link in msgpack': {
    opening: pack(hello('MSGPACK-1000')),
    message: (number, signs, opened) => pack(update(inMsgpack(opened).flakeAddress, number, signs)),
    isAnswer: (payload, number) => isAcknowledged(inMsgpack(payload), number),
  },
}
