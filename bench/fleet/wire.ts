import { Packr } from 'msgpackr'
import type { DeviceValue } from '#bench/fleet/encoding'
import { jsonForm } from '#bench/fleet/encoding'
import type { Change, Frame } from '#bench/fleet/frames'

export type LinkProtocol = 'json' | 'msgpack'
export type LinkForm = 'short' | 'long'

/** Encodes and decodes the messages of a device in one protocol of contract 7. */
export interface LinkWire {
  readonly subprotocol: string
  encode(message: unknown): string | Uint8Array
  decode(data: Buffer): unknown
  update(form: LinkForm, flakeAddress: number, seq: number, frame: Frame, timestamp: number | undefined): unknown
  value(change: Change): unknown
}

/**
 * No records: the server takes maps. 64-bit integers are decoded as numbers, because the server sends none that is
 * larger. Integers that may exceed 2³² are encoded from BigInt, because msgpackr would pack such numbers as doubles.
 */
const packr = new Packr({ useRecords: false, int64AsType: 'number' })

export const wires: Readonly<Record<LinkProtocol, LinkWire>> = {
  json: wire('link.v1.json', {
    encode: (message) => JSON.stringify(message),
    decode: (data) => JSON.parse(data.toString('utf8')),
    value: jsonForm,
    integer: (integer) => integer,
  }),
  msgpack: wire('link.v1.msgpack', {
    encode: (message) => packr.pack(message),
    decode: (data) => packr.unpack(data),
    value: (value) => value,
    integer: (integer) => BigInt(integer),
  }),
}

interface Notation {
  encode(message: unknown): string | Uint8Array
  decode(data: Buffer): unknown
  value(value: DeviceValue): unknown
  integer(integer: number): unknown
}

function wire(subprotocol: string, notation: Notation): LinkWire {
  const value = ({ property, value }: Change): unknown =>
    property.type === 'DATETIME' ? notation.integer(value as number) : notation.value(value)
  return {
    subprotocol,
    encode: notation.encode,
    decode: notation.decode,
    value,
    update(form, flakeAddress, seq, frame, timestamp) {
      const time = timestamp === undefined ? undefined : notation.integer(timestamp)
      if (form === 'short') {
        const flat: unknown[] = []
        for (const change of frame.changes) flat.push(change.property.propId, value(change))
        const message = ['U', flakeAddress, seq, frame.serviceIndex, flat]
        return time === undefined ? message : [...message, time]
      }
      return {
        type: 'UPDATE',
        flakeAddress,
        seq,
        serviceIdentifier: frame.service.serviceIdentifier,
        updates: frame.changes.map((change) => ({ propId: change.property.propId, value: value(change) })),
        ...(time !== undefined && { timestamp: time }),
      }
    },
  }
}
