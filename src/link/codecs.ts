import { deviceFieldAt, FrameCost, type LinkCodec, notFrame } from '#link/codec'
import { deviceFrame } from '#link/device-frame'
import { msgpackCodec } from '#link/msgpack-codec'

/** `link.v1.json`: messages in text frames, values as they are stored. Contract 7. */
export const jsonCodec: LinkCodec = {
  decode(data, isBinary, isNumbered) {
    if (isBinary) throw notFrame('this connection uses JSON in text frames')
    checkCost(data)
    return deviceFrame(parsed(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString()), isNumbered)
  },
  encode: ({ updates, ...message }) =>
    JSON.stringify(
      updates ? { ...message, updates: updates.map(({ propId, value }) => ({ propId, value })) } : message,
    ),
  acknowledge: (flakeAddress, seq, isShort) =>
    isShort ? `["A",${flakeAddress},${seq}]` : `{"type":"ACK","flakeAddress":${flakeAddress},"seq":${seq}}`,
}

/** Replaces the error of `JSON.parse`, which would quote parts of the frame. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw notFrame('it is not JSON')
  }
}

const quote = 0x22
const backslash = 0x5c
const colon = 0x3a
const comma = 0x2c

/**
 * Refuses a text that exceeds a limit, in one pass over its bytes, before any value is created. A field name with an
 * escape (`"\u0065"`) counts as unknown.
 */
function checkCost(data: Uint8Array): void {
  const cost = new FrameCost()
  let depth = 0
  let textFrom = 0
  let textLength = 0
  for (let at = 0; at < data.length; at++) {
    switch (data[at]) {
      case quote:
        textFrom = ++at
        for (; at < data.length && data[at] !== quote; at++) if (data[at] === backslash) at++
        textLength = at - textFrom
        break
      case colon:
        if (deviceFieldAt(data, textFrom, textLength) === undefined) cost.unknownField()
        break
      case 0x5b:
      case 0x7b:
        cost.list(++depth)
        break
      case 0x5d:
      case 0x7d:
        depth--
        break
      case comma:
        cost.value()
    }
  }
}

/** Codecs by their websocket subprotocol. Contract 7. */
export const linkCodecs = {
  'link.v1.json': jsonCodec,
  'link.v1.msgpack': msgpackCodec,
} as const satisfies Readonly<Record<string, LinkCodec>>
