import type { DeviceFrame } from '#link/device-frame'
import type { PropertyType, PropertyValue } from '#model/property-type'

/** How the messages of a link look on the wire. A link knows the messages, and nothing of their bytes. Contract 7. */
export interface LinkCodec {
  /**
   * Reads one frame. Its bytes may be changed after the call: nothing of the result lies in them. Numbers are numbers
   * where that is exact, else bigint; binary values are bytes.
   * @throws Problem `bad_request` for anything that is no frame of this codec, or that costs more than a frame may
   */
  decode(data: Uint8Array, isBinary: boolean): DeviceFrame
  encode(message: ServerFrame): string | Uint8Array
  /** ACK. The bytes are only valid until the next call. */
  acknowledge(flakeAddress: number, seq: number, isShort: boolean): string | Uint8Array
}

/** A message to a device. Whole numbers among its fields are integers; `updates` are those of a WRITE. */
export interface ServerFrame {
  readonly type: string
  readonly updates?: readonly WrittenValue[]
  readonly [field: string]: unknown
}

/** A value that a property is asked to take; its type says how the codec writes it. */
export interface WrittenValue {
  readonly propId: number
  readonly type: PropertyType
  readonly value: PropertyValue
}
