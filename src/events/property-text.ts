import { type Items, isPropertyError, type PropertyState, type RemovedProperty } from '#model/entry'
import { modifierFlags, modifierOf } from '#model/property'
import { propertyTypeOf } from '#model/property-type'
import type { Shape, ShapeProperty } from '#model/shape'

/**
 * Property objects as JSON text. §2.2, contract 3.8. There are millions, and everything except the value is the same
 * for a property of a shape: that part is encoded once for each shape.
 */
const startsOfShapes = new WeakMap<Shape, readonly string[]>()

/** One property; with `timestamp` in state, without it in events, which have their own time. */
export function propertyText(shape: Shape, index: number, state: PropertyState, timestamp?: number): string {
  const end = timestamp === undefined || timestamp === 0 ? '}' : `,"timestamp":${timestamp}}`
  return textOf(shape, startsOf(shape)[index] as string, index, state, end)
}

/** Properties of an event, in the order of the items, without omitted ones. */
export function itemTexts(shape: Shape, items: Items, isOmitted?: (propId: number) => boolean): string {
  const starts = startsOf(shape)
  let texts = ''
  for (let at = 0; at < items.length; at += 2) {
    const index = items[at] as number
    if (isOmitted?.((shape.properties[index] as ShapeProperty).propId)) continue
    const text = textOf(shape, starts[index] as string, index, items[at + 1] as PropertyState, '}')
    texts = texts === '' ? text : `${texts},${text}`
  }
  return texts
}

function textOf(shape: Shape, start: string, index: number, state: PropertyState, end: string): string {
  if (typeof state === 'number') return `${start},"value":${state}${end}`
  if (state === null) return start + end
  if (isPropertyError(state)) {
    const property = shape.properties[index] as ShapeProperty
    return `${startOf(property, 'error', true)},"error":${JSON.stringify(state.error)}${end}`
  }
  return `${start},"value":${JSON.stringify(state)}${end}`
}

/** A property that is no longer declared. */
export function removedText({ propId, type, modifier }: RemovedProperty): string {
  const known = propertyTypeOf(type)
  if (!known) throw new Error(`${type} is no data type`)
  return `${startOf({ propId, type: known, modifier }, 'removed', false)}}`
}

/** Text as JSON. Identifiers rarely contain characters that need escaping, and the check is cheaper than the call. */
export function quote(text: string): string {
  return text.includes('"') || text.includes('\\') ? JSON.stringify(text) : `"${text}"`
}

/** For each property, the text before its value. */
export function startsOf(shape: Shape): readonly string[] {
  let starts = startsOfShapes.get(shape)
  if (!starts) {
    starts = shape.properties.map((property) => startOf(property, 'value', false))
    startsOfShapes.set(shape, starts)
  }
  return starts
}

/** The text before the value, without the closing brace. */
function startOf({ propId, type, modifier }: ShapeProperty, tag: string, isError: boolean): string {
  const isArray = type.isArray ? modifierFlags.isArray : 0
  const shown = (modifier & ~modifierFlags.isError) | isArray | (isError ? modifierFlags.isError : 0)
  return `{"tag":"${tag}","modifier":${JSON.stringify(modifierOf(shown))},"propId":${propId},"type":"${type.wireName}"`
}
