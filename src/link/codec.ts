import type { DeviceFrame } from '#link/device-frame'
import type { PropertyType, PropertyValue } from '#model/property-type'

/** How the messages of a link look on the wire. A link knows the messages, and nothing of their bytes. Contract 7. */
export interface LinkCodec {
  /**
   * Reads one frame. Its bytes may change after the call: the result shares no memory with them. Integers that no number
   * holds exactly are bigint; binary values are bytes.
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

/** A value to be written to a property; its type decides how the codec encodes it. */
export interface WrittenValue {
  readonly propId: number
  readonly type: PropertyType
  readonly value: PropertyValue
}
