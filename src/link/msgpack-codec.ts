import { Packr } from 'msgpackr'
import type { LinkCodec, ServerFrame, WrittenValue } from '#link/codec'
import { deviceFrame } from '#link/device-frame'
import { notFrame } from '#link/frame-limits'
import { readMsgpack } from '#link/msgpack-values'
import { readShortUpdate } from '#link/short-update'
import { uint32Max } from '#model/identifier'

const packr = new Packr({ useRecords: false, variableMapSize: true, moreTypes: false })

/**
 * `link.v1.msgpack`: the same messages as maps and arrays in binary frames. BINARY is bin, and integers of more than 32
 * bits (INT64, UINT64, DATETIME, `seq`, times) are 64-bit ones. Contract 7.
 */
export const msgpackCodec: LinkCodec = {
  decode(data, isBinary) {
    if (!isBinary) throw notFrame('this link speaks msgpack in binary frames')
    return readShortUpdate(data) ?? deviceFrame(readMsgpack(data))
  },
  encode: (message) => packr.pack(wireMessage(message)),
  acknowledge: (flakeAddress, seq, isShort) =>
    isShort && seq <= uint32Max
      ? shortAck(flakeAddress, seq)
      : packr.pack(ack(flakeAddress, wideInteger(seq), isShort)),
}

function ack(flakeAddress: number, seq: number | bigint, isShort: boolean): unknown {
  return isShort ? ['A', flakeAddress, seq] : { type: 'ACK', flakeAddress, seq }
}

function wireMessage(message: ServerFrame): Record<string, unknown> {
  const wire: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(message))
    wire[field] = Number.isInteger(value) ? wideInteger(value as number) : value
  if (message.updates) wire.updates = message.updates.map(wireUpdate)
  return wire
}

function wireUpdate({ propId, type, value }: WrittenValue): unknown {
  const form = forms[type.name.replace('-array', '')]
  if (!form) return { propId, value }
  return { propId, value: typeof value === 'object' ? value.map(form) : form(value) }
}

const forms: Readonly<Record<string, (value: number | string | boolean) => unknown>> = {
  binary: (value) => Buffer.from(value as string, 'base64'),
  int64: wideInteger,
  uint64: wideInteger,
  datetime: wideInteger,
}

const int32Min = -(2 ** 31)

/** The encoder writes numbers beyond 32 bits as doubles, and a bigint as 64 bits even if it is small. */
function wideInteger(value: number | string | boolean): number | bigint {
  const number = Number(value)
  return number >= int32Min && number <= uint32Max ? number : BigInt(value)
}

/**
 * `["A", …]` as the general encoder writes it, by hand, because nearly every frame of a device is answered with one: an
 * array of three, a string of one; then two integers of at most five bytes.
 */
function shortAck(flakeAddress: number, seq: number): Uint8Array {
  const end = putInteger(putInteger(ackHead.length, flakeAddress), seq)
  return ackViews[end - 1] as Uint8Array
}

const ackHead = [0x93, 0xa1, 0x41]
const ackBytes = Uint8Array.from([...ackHead, ...new Array<number>(10).fill(0)])
const ackViews = Array.from(ackBytes, (_, index) => ackBytes.subarray(0, index + 1))

/** A natural number of at most 32 bits in its shortest form. Answers where it ends. */
function putInteger(at: number, value: number): number {
  if (value < 0x80) {
    ackBytes[at] = value
    return at + 1
  }
  if (value < 0x100) {
    ackBytes[at] = 0xcc
    ackBytes[at + 1] = value
    return at + 2
  }
  if (value < 0x10000) {
    ackBytes[at] = 0xcd
    ackBytes[at + 1] = value >>> 8
    ackBytes[at + 2] = value
    return at + 3
  }
  ackBytes[at] = 0xce
  ackBytes[at + 1] = value >>> 24
  ackBytes[at + 2] = value >>> 16
  ackBytes[at + 3] = value >>> 8
  ackBytes[at + 4] = value
  return at + 5
}
