import type { z } from 'zod'
import type { Items, PropertyState } from '#model/entry'
import { isPropertyId, timestampMsMax, uint32Max } from '#model/identifier'
import { messageCharactersMax, propertiesMax } from '#model/link-message'
import { Problem } from '#model/problem'
import type { Shape, ShapeProperty } from '#model/shape'

/** A decoded frame of a device: a checked UPDATE, an UPDATE to refuse, or a message that the schemas have to check. */
export type DeviceFrame = UpdateFrame | BadUpdate | OtherFrame

/** An UPDATE that must be refused. */
export interface BadUpdate {
  readonly kind: 'bad_update'
  readonly problem: Problem
  /** The decoded frame. */
  readonly message: unknown
}

interface OtherFrame {
  readonly kind: 'other'
  readonly message: unknown
}

/** `isNumbered`: an UPDATE must have `seq`. Otherwise `seq` is 0 if it is absent. */
export function deviceFrame(message: unknown, isNumbered = true): DeviceFrame {
  if (!isUpdate(message)) return { kind: 'other', message }
  const read = readUpdate(message, isNumbered)
  return read instanceof Problem ? { kind: 'bad_update', problem: read, message } : read
}

/**
 * An UPDATE of either form. UPDATE is the most frequent frame, so it is checked by hand, without temporary objects. The
 * verdict is the same as that of the schemas in `model/link-message` and of the declared types. Contract 7.
 */
export interface UpdateFrame {
  readonly kind: 'update'
  readonly flakeAddress: number
  readonly seq: number
  readonly isShort: boolean
  /** The index of the service in HELLO (short frames), or its name (long frames). */
  readonly service: number | string
  readonly updates: readonly unknown[]
  readonly timestamp: number | undefined
}

/** Whether a decoded frame is meant as an UPDATE of either form. */
export function isUpdate(message: unknown): message is readonly unknown[] | { readonly type: 'UPDATE' } {
  if (Array.isArray(message)) return message[0] === 'U'
  return typeof message === 'object' && message !== null && (message as { type?: unknown }).type === 'UPDATE'
}

/** Returns the parts of an UPDATE, or its error. */
export function readUpdate(
  frame: readonly unknown[] | { readonly type: 'UPDATE' },
  isNumbered = true,
): UpdateFrame | Problem {
  const parts = Array.isArray(frame) ? shortParts(frame) : longParts(frame as Readonly<Record<string, unknown>>)
  if (parts instanceof Problem) return parts
  const { flakeAddress, timestamp, isShort, service, updates } = parts
  const hasNumber = isNumbered || parts.seq !== undefined
  const seq = hasNumber ? parts.seq : 0
  if (!isInteger(flakeAddress, 1, uint32Max)) return bad('flakeAddress must be an integer from 1 to 4294967295')
  if (!isInteger(seq, hasNumber ? 1 : 0, Number.MAX_SAFE_INTEGER)) return bad('seq must be an integer from 1')
  if (timestamp !== undefined && !isInteger(timestamp, 0, timestampMsMax)) return bad('timestamp must be Unix ms')
  return { kind: 'update', flakeAddress, seq, isShort, service: service as number | string, updates, timestamp }
}

/** Returns the values by their index in the shape, in the order of the frame; or the first error. */
export function readItems(frame: UpdateFrame, shape: Shape): Items | Problem {
  return frame.isShort ? shortItems(frame.updates, shape) : longItems(frame.updates, shape)
}

type Parts = {
  readonly [K in Exclude<keyof UpdateFrame, 'kind'>]: K extends 'isShort'
    ? boolean
    : K extends 'updates'
      ? readonly unknown[]
      : unknown
}

function shortParts(frame: readonly unknown[]): Parts | Problem {
  if (frame.length !== 5 && frame.length !== 6) return bad('a short UPDATE has 5 or 6 elements')
  const [, flakeAddress, seq, service, updates, timestamp] = frame
  if (!isInteger(service, 0, 63)) return bad('serviceIndex must be an integer from 0 to 63')
  if (!Array.isArray(updates) || updates.length < 2 || updates.length % 2 !== 0) return bad('updates must be pairs')
  if (updates.length > 2 * propertiesMax) return bad(`updates must have at most ${propertiesMax} pairs`)
  if (frame.length === 6 && timestamp === undefined) return bad('timestamp must be Unix ms')
  return { flakeAddress, seq, isShort: true, service, updates, timestamp }
}

function longParts(frame: Readonly<Record<string, unknown>>): Parts | Problem {
  const { flakeAddress, seq, serviceIdentifier, updates, timestamp } = frame
  if (typeof serviceIdentifier !== 'string') return bad('serviceIdentifier must be a string')
  if (!Array.isArray(updates) || updates.length < 1) return bad('updates must be an array with at least one element')
  if (updates.length > propertiesMax) return bad(`updates must have at most ${propertiesMax} elements`)
  return { flakeAddress, seq, isShort: false, service: serviceIdentifier, updates, timestamp }
}

/** Reuses the decoded array, which has no other owner. */
function shortItems(updates: readonly unknown[], shape: Shape): Items | Problem {
  const items = updates as (number | PropertyState)[]
  for (let at = 0; at < updates.length; at += 2) {
    const propId = updates[at]
    const index = shape.indexOf.get(propId as number)
    if (index === undefined) return isPropertyId(propId) ? unknownProperty(propId) : bad('propId must be an integer')
    const property = shape.properties[index] as ShapeProperty
    const value = updates[at + 1]
    const accepted = property.type.accept(value) ?? errorOf(value, 'e')
    if (accepted === undefined) return badValue(property)
    items[at] = index
    items[at + 1] = accepted
  }
  return items
}

function longItems(updates: readonly unknown[], shape: Shape): Items | Problem {
  const items: (number | PropertyState)[] = new Array(updates.length * 2)
  for (let at = 0; at < updates.length; at++) {
    const update = updates[at] as { propId?: unknown; value?: unknown; error?: unknown } | null
    if (typeof update !== 'object' || update === null) return bad('an update must be an object')
    const { propId, value, error } = update
    if (!isPropertyId(propId)) return bad('propId must be an integer')
    const index = shape.indexOf.get(propId)
    if (index === undefined) return unknownProperty(propId)
    if ((value === undefined) === (error === undefined)) return bad('an update has either a value or an error')
    const property = shape.properties[index] as ShapeProperty
    const accepted = error === undefined ? property.type.accept(value) : errorOf(update, 'error')
    if (accepted === undefined) return error === undefined ? badValue(property) : bad('error must be a short text')
    items[at * 2] = index
    items[at * 2 + 1] = accepted
  }
  return items
}

/**
 * Returns the error that `{"e": "…"}` contains in place of a value, or the `error` of an update. Undefined if the error
 * is not valid.
 */
function errorOf(value: unknown, field: 'e' | 'error'): { error: string } | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const error = (value as Readonly<Record<string, unknown>>)[field]
  if (typeof error !== 'string' || error.length > messageCharactersMax || !error.isWellFormed()) return undefined
  return { error }
}

function isInteger(value: unknown, min: number, max: number): value is number {
  return typeof value === 'number' && value >= min && value <= max && Number.isInteger(value)
}

function bad(message: string): Problem {
  return new Problem('bad_request', message)
}

function unknownProperty(propId: number): Problem {
  return new Problem('property_unknown', `property ${propId} is not declared`)
}

function badValue(property: ShapeProperty): Problem {
  return new Problem('value_bad', `property ${property.propId} must be ${property.type.text}`)
}

/** The frame that an ERROR message is about, as far as it is known. `deviceIdentifier` belongs to HELLO. */
export interface FrameAbout {
  readonly flakeAddress?: number
  readonly seq?: number
  readonly deviceIdentifier?: string
}

/** Returns the address and the number in a refused frame, as far as they are valid. ERROR repeats them. Contract 7. */
export function frameAboutOf(frame: unknown): FrameAbout {
  if (typeof frame !== 'object' || frame === null) return {}
  const [flakeAddress, seq] = Array.isArray(frame)
    ? [frame[1], frame[2]]
    : [(frame as { flakeAddress?: unknown }).flakeAddress, (frame as { seq?: unknown }).seq]
  return {
    ...(isWithin(flakeAddress, uint32Max) ? { flakeAddress } : {}),
    ...(isWithin(seq, Number.MAX_SAFE_INTEGER) ? { seq } : {}),
  }
}

/** ERROR may only contain valid addresses and numbers. */
function isWithin(value: unknown, max: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= max
}

interface SchemaFault {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]
}

/** Returns the first error of a schema as one line. `path` is the place of the checked value in the message. */
export function messageOf({ issues: [issue] }: SchemaFault, ...path: readonly string[]): string {
  if (!issue) return 'not a message of this protocol'
  return `${[...path, ...issue.path].join('.') || 'message'}: ${issue.message}`
}

/**
 * Checks the items of a list with their schema, up to the first error, and refuses repeated properties. `path` is the
 * place of the list in the message.
 */
export function readPropertyItems<Item extends { readonly propId: number }>(
  schema: z.ZodType<Item>,
  list: readonly unknown[],
  path: string,
): Item[] | Problem {
  const items = new Map<number, Item>()
  for (const [place, each] of list.entries()) {
    const item = schema.safeParse(each)
    if (!item.success) return new Problem('bad_request', messageOf(item.error, path, String(place)))
    const { propId } = item.data
    if (items.has(propId)) return new Problem('bad_request', `${path}.${place}.propId: is given twice`)
    items.set(propId, item.data)
  }
  return [...items.values()]
}
