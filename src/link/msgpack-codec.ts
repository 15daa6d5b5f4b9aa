import { Packr } from 'msgpackr'
import { type LinkCodec, notFrame, type ServerFrame, type WrittenValue } from '#link/codec'
import { deviceFrame, type UpdateFrame } from '#link/device-frame'
import { readMsgpack } from '#link/msgpack-values'
import { timestampMsMax, uint32Max } from '#model/identifier'
import { propertiesMax } from '#model/link-message'

const packr = new Packr({ useRecords: false, variableMapSize: true, moreTypes: false })

/**
 * `link.v1.msgpack`: the same messages as maps and arrays in binary frames. BINARY values use bin. Integers above 32
 * bits (INT64, UINT64, DATETIME, `seq`, times) use 64 bits. Contract 7.
 */
export const msgpackCodec: LinkCodec = {
  decode(data, isBinary, isNumbered) {
    if (!isBinary) throw notFrame('this connection uses msgpack in binary frames')
    return readShortUpdate(data) ?? deviceFrame(readMsgpack(data), isNumbered)
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

/** The encoder writes numbers above 32 bits as doubles, and a bigint always as 64 bits. */
function wideInteger(value: number | string | boolean): number | bigint {
  const number = Number(value)
  return number >= int32Min && number <= uint32Max ? number : BigInt(value)
}

/**
 * Encodes `["A", …]` by hand, with the same result as the encoder, because nearly every frame of a device gets an ACK:
 * an array of three, a string of one character, two integers of at most five bytes.
 */
function shortAck(flakeAddress: number, seq: number): Uint8Array {
  const end = putInteger(putInteger(ackHead.length, flakeAddress), seq)
  return ackViews[end - 1] as Uint8Array
}

const ackHead = [0x93, 0xa1, 0x41]
const ackBytes = Uint8Array.from([...ackHead, ...new Array<number>(10).fill(0)])
const ackViews = Array.from(ackBytes, (_, index) => ackBytes.subarray(0, index + 1))

/** Writes an unsigned integer of up to 32 bits in its shortest form. Returns the end position. */
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

/**
 * Reads the most frequent frame, a short UPDATE with only numbers and booleans, without the general decoder: it takes a
 * tenth of the time and creates only objects that are kept.
 *
 * Returns undefined for all other frames, valid or not: the general decoder handles them. A property test checks that
 * both give the same result. msgpack format: https://github.com/msgpack/msgpack/blob/master/spec.md
 */
export function readShortUpdate(data: Uint8Array): UpdateFrame | undefined {
  const head = data[0]
  if ((head !== arrayOfFive && head !== arrayOfSix) || data[1] !== stringOfOne || data[2] !== letterU) return undefined
  position = 3
  const flakeAddress = numberFrom(data)
  const seq = numberFrom(data)
  const service = numberFrom(data)
  if (!isNatural(flakeAddress, uint32Max) || flakeAddress === 0) return undefined
  if (!isNatural(seq, Number.MAX_SAFE_INTEGER) || seq === 0) return undefined
  if (!isNatural(service, serviceIndexMax)) return undefined
  const length = arrayLengthFrom(data)
  if (length === undefined || length < 2 || length % 2 !== 0 || length > 2 * propertiesMax) return undefined
  const updates: unknown[] = []
  for (let index = 0; index < length; index++) {
    const value = valueFrom(data)
    if (value === undefined) return undefined
    updates.push(value)
  }
  let timestamp: number | undefined
  if (head === arrayOfSix) {
    timestamp = numberFrom(data)
    if (!isNatural(timestamp, timestampMsMax)) return undefined
  }
  return position === data.length
    ? { kind: 'update', flakeAddress, seq, isShort: true, service, updates, timestamp }
    : undefined
}

const arrayOfFive = 0x95
const arrayOfSix = 0x96
const stringOfOne = 0xa1
const letterU = 0x55
const serviceIndexMax = 63

/** The read position. Global, because reading is synchronous, one frame at a time. */
let position = 0

/** The bytes of a float in the byte order of the machine, and their values. */
const floatBytes = new Uint8Array(8)
const float64 = new Float64Array(floatBytes.buffer)
const float32 = new Float32Array(floatBytes.buffer)

function isNatural(value: number | undefined, max: number): value is number {
  return value !== undefined && value >= 0 && value <= max && Number.isInteger(value)
}

function arrayLengthFrom(data: Uint8Array): number | undefined {
  const tag = data[position++] as number
  if (tag >= 0x90 && tag <= 0x9f) return tag & 0x0f
  if (tag !== 0xdc) return undefined
  position += 2
  return ((data[position - 2] as number) << 8) | (data[position - 1] as number)
}

function valueFrom(data: Uint8Array): number | boolean | undefined {
  const tag = data[position]
  if (tag !== 0xc2 && tag !== 0xc3) return numberFrom(data)
  position++
  return tag === 0xc3
}

/** Returns undefined if there is no float or integer of up to 32 bits, or the frame is too short. */
function numberFrom(data: Uint8Array): number | undefined {
  const at = position
  const tag = data[at] as number
  if (tag < 0x80) {
    position = at + 1
    return tag
  }
  switch (tag) {
    case 0xcb:
      position = at + 9
      if (position > data.length) return undefined
      for (let index = 0; index < 8; index++) floatBytes[7 - index] = data[at + 1 + index] as number
      return float64[0]
    case 0xca:
      position = at + 5
      if (position > data.length) return undefined
      for (let index = 0; index < 4; index++) floatBytes[3 - index] = data[at + 1 + index] as number
      return float32[0]
    case 0xcc:
    case 0xd0:
      position = at + 2
      if (position > data.length) return undefined
      return tag === 0xcc ? (data[at + 1] as number) : ((data[at + 1] as number) << 24) >> 24
    case 0xcd:
    case 0xd1: {
      position = at + 3
      if (position > data.length) return undefined
      const value = ((data[at + 1] as number) << 8) | (data[at + 2] as number)
      return tag === 0xcd ? value : (value << 16) >> 16
    }
    case 0xce:
    case 0xd2: {
      position = at + 5
      if (position > data.length) return undefined
      const value =
        ((data[at + 1] as number) << 24) |
        ((data[at + 2] as number) << 16) |
        ((data[at + 3] as number) << 8) |
        (data[at + 4] as number)
      return tag === 0xce ? value >>> 0 : value
    }
    default:
      if (!(tag >= 0xe0)) return undefined
      position = at + 1
      return tag - 0x100
  }
}
