import type { DeviceFrame } from '#link/device-frame'
import { Problem } from '#model/problem'
import type { PropertyType, PropertyValue } from '#model/property-type'

/** The wire format of the messages of a link. Other code knows the messages only, not their bytes. Contract 7. */
export interface LinkCodec {
  /**
   * Reads one frame. The caller may overwrite the bytes afterwards: the result shares no memory with them. In
   * msgpack, integers that a number cannot hold exactly become bigint, and binary values become bytes.
   * `isNumbered` false: an UPDATE may leave out `seq`, which is 0 then.
   * @throws Problem `bad_request` if the bytes are no frame of this codec, or exceed a limit of `FrameCost`
   */
  decode(data: Uint8Array, isBinary: boolean, isNumbered?: boolean): DeviceFrame
  encode(message: ServerFrame): string | Uint8Array
  /**
   * Encodes ACK. The bytes are valid until the next call. Undefined: the transport acknowledges each message itself.
   */
  acknowledge(flakeAddress: number, seq: number, isShort: boolean): string | Uint8Array | undefined
}

/** A message to a device. Whole numbers among its fields are encoded as integers; `updates` belongs to WRITE. */
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

/**
 * Limit for the levels of a frame. In a HELLO, the modifiers of declared properties are at level six. The other levels
 * are reserved for fields of newer devices.
 */
export const frameDepthMax = 8

/**
 * Limit for the values in one frame, elements of lists included. A JSON frame of the default `LINK_FRAME_BYTES_MAX`
 * cannot hold more, and an array value of 64 KiB holds 32 767. Reading this many values takes up to 10 ms.
 */
export const frameValuesMax = 131_072

/**
 * Limit for the lists and objects in one frame. Each of them costs about ten times as much as a number. A HELLO of the
 * default `LINK_FRAME_BYTES_MAX` has at most 20 000.
 */
export const frameListsMax = 65_536

/**
 * Limit for the binary values in one frame. Each of them costs half a microsecond, even if it is empty. A HELLO of the
 * default `LINK_FRAME_BYTES_MAX` has at most 10 000.
 */
export const frameBinariesMax = 16_384

/**
 * Limit for the unknown fields in one frame: a newer device may send a few in each object. Each new name costs about a
 * microsecond, so a frame full of new names would block the event loop.
 */
export const unknownFieldsMax = 4_096

/** All fields of the messages that a device may send, at any depth. Contract 7. */
export const deviceFields = [
  ...['type', 'deviceIdentifier', 'session', 'project', 'firmwares', 'firmware', 'hardware', 'index', 'autoUpdate'],
  ...['services', 'serviceIdentifier', 'properties', 'propId', 'value', 'modifier', 'isReadOnly', 'isActionable'],
  ...['isVolatile', 'isError', 'isArray', 'flakeAddress', 'seq', 'updates', 'error', 'timestamp', 'id', 'results'],
  ...['status', 'message', 'progress'],
  // The error of a property in a short frame.
  'e',
] as const

const fieldsOfLength: readonly (readonly string[])[] = Array.from({ length: 32 }, (_, length) =>
  deviceFields.filter((field) => field.length === length),
)

/**
 * Returns the field that these bytes name, or undefined if no message has it. Does not convert the bytes to a string.
 */
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
 * Counts the cost of a frame while it is read. Each method throws if the frame exceeds a limit.
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

  /** `depth` counts the list or object itself and those around it. */
  list(depth: number): void {
    if (depth > frameDepthMax) throw notFrame(`more than ${frameDepthMax} nested lists and objects`)
    if (++this.#lists > frameListsMax) throw notFrame(`more than ${frameListsMax} lists and objects`)
  }

  binary(): void {
    if (++this.#binaries > frameBinariesMax) throw notFrame(`more than ${frameBinariesMax} binary values`)
  }

  unknownField(): void {
    if (++this.#unknownFields > unknownFieldsMax) throw notFrame(`more than ${unknownFieldsMax} unknown fields`)
  }
}
