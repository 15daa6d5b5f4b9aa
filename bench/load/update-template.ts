import { clientFrame } from '#bench/load/frames'

export const serviceIdentifier = '5f2a7c10-0001-4b6d-9e3f-a0000000000a'
/** The id of the first property of the devices of a load; the ids of the other properties follow it. */
export const firstPropId = 0x2000
/** Values have two decimals, like measured values. */
const valuesPerUnit = 100

const uint32Tag = 0xce
const uint16Tag = 0xcd
const float64Tag = 0xcb

/** Writes frames of equal length. */
export interface FrameTemplate {
  readonly bytes: number
  /** Writes a frame at `at`; its last value is `number`, which `numberOf` reads. */
  write(into: Buffer, at: number, address: number, sequence: number, number: number): void
}

/**
 * One UPDATE in short form as msgpack, `["U", flakeAddress, seq, 0, [propId, value, …]]`. It is encoded once, and then
 * only its numbers are replaced. Contract 7.
 */
export class UpdateTemplate implements FrameTemplate {
  readonly bytes: number
  readonly #frame: Buffer
  readonly #addressAt: number
  readonly #sequenceAt: number
  readonly #firstValueAt: number
  readonly #changes: number

  constructor(changes: number) {
    const items = changes * 2
    const head = [0x95, 0xa1, 0x55, uint32Tag, 0, 0, 0, 0, uint32Tag, 0, 0, 0, 0, 0]
    const payload = [...head, ...(items < 16 ? [0x90 | items] : [0xdc, items >> 8, items & 0xff])]
    const firstItemAt = payload.length
    for (let place = 0; place < changes; place++) {
      const propId = firstPropId + place
      payload.push(uint16Tag, propId >> 8, propId & 0xff, float64Tag, 0, 0, 0, 0, 0, 0, 0, 0)
    }
    this.#frame = clientFrame(Uint8Array.from(payload))
    const payloadAt = this.#frame.length - payload.length
    this.bytes = this.#frame.length
    this.#changes = changes
    this.#addressAt = payloadAt + 4
    this.#sequenceAt = payloadAt + 9
    this.#firstValueAt = payloadAt + firstItemAt + 4
  }

  write(into: Buffer, at: number, flakeAddress: number, sequence: number, number: number): void {
    into.set(this.#frame, at)
    into.writeUInt32BE(flakeAddress, at + this.#addressAt)
    into.writeUInt32BE(sequence, at + this.#sequenceAt)
    for (let place = 0; place < this.#changes; place++) {
      into.writeDoubleBE(carriedValue(number, this.#changes, place), at + this.#firstValueAt + place * itemBytes)
    }
  }
}

const itemBytes = 12

/** The value of the property with this index in a frame that carries `number`. */
function carriedValue(number: number, changes: number, place: number): number {
  return (number + changes - 1 - place) / valuesPerUnit
}

export function numberOf(value: number): number {
  return Math.round(value * valuesPerUnit)
}
