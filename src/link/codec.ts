import type { DeviceFrame } from '#link/device-frame'
import { Problem } from '#model/problem'
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

/** An UPDATE of the service of a HELLO is five deep; the rest is for fields of newer devices. */
export const frameDepthMax = 8

/**
 * Elements of lists included. A JSON frame of the default `LINK_FRAME_BYTES_MAX` holds no more, and an array value of 64 KiB
 * holds 32 767. As many as this take up to 10 ms.
 */
export const frameValuesMax = 131_072

/** A list or an object costs some ten times as much as a number. A HELLO of the default length has at most 20 000. */
export const frameListsMax = 65_536

/** A binary value costs half a microsecond, even an empty one. A HELLO of the default length has at most 10 000. */
export const frameBinariesMax = 16_384

/**
 * Fields that no message has, in one frame: a newer device may send a few in each object. Every name that was not seen
 * before costs about a microsecond, so as many names as fit into a frame would hold the server up.
 */
export const unknownFieldsMax = 4_096

/** Every field of a message that a device may send, at any depth. Contract 7. */
export const deviceFields = [
  ...['type', 'deviceIdentifier', 'session', 'project', 'firmwares', 'firmware', 'hardware', 'index', 'autoUpdate'],
  ...['services', 'serviceIdentifier', 'properties', 'propId', 'value', 'modifier', 'isReadOnly', 'isActionable'],
  ...['isVolatile', 'isError', 'isArray', 'flakeAddress', 'seq', 'updates', 'error', 'timestamp', 'id', 'results'],
  ...['status', 'message', 'progress'],
  // A short error.
  'e',
] as const

const fieldsOfLength: readonly (readonly string[])[] = Array.from({ length: 32 }, (_, length) =>
  deviceFields.filter((field) => field.length === length),
)

/** The field whose name these bytes are; undefined if no message has it. Makes no text of the bytes. */
export function deviceFieldAt(bytes: Uint8Array, from: number, length: number): string | undefined {
  for (const field of fieldsOfLength[length] ?? []) if (isAt(bytes, from, field)) return field
  return undefined
}

function isAt(bytes: Uint8Array, from: number, field: string): boolean {
  let index = 0
  while (index < field.length && bytes[from + index] === field.charCodeAt(index)) index++
  return index === field.length
}

export function notFrame(why: string): Problem {
  return new Problem('bad_request', `not a frame: ${why}`)
}

/**
 * Counts the cost of a frame while it is read. Each method throws when the frame is over a limit.
 * @throws Problem `bad_request`
 */
export class FrameCost {
  #values = 0
  #lists = 0
  #binaries = 0
  #unknownFields = 0

  value(): void {
    if (++this.#values > frameValuesMax) throw notFrame(`more than ${frameValuesMax} values`)
  }

  /** `depth`: of the lists and objects around it, and itself. */
  list(depth: number): void {
    if (depth > frameDepthMax) throw notFrame(`more than ${frameDepthMax} lists and objects in one another`)
    if (++this.#lists > frameListsMax) throw notFrame(`more than ${frameListsMax} lists and objects`)
  }

  binary(): void {
    if (++this.#binaries > frameBinariesMax) throw notFrame(`more than ${frameBinariesMax} binary values`)
  }

  unknownField(): void {
    if (++this.#unknownFields > unknownFieldsMax) throw notFrame(`more than ${unknownFieldsMax} unknown fields`)
  }
}
