import type { PropertyView, ServiceView } from '#client/state'
import { modifierBits, modifierFlags, modifierOf } from '#model/modifier'
import type { Modifier, Property } from '#model/property'
import type { PropertyValue } from '#model/property-type'

/** The declaration of a property, without its value. */
interface PropertyDeclaration {
  readonly propId: number
  readonly type: string
  /** Bits of the modifier, without `isError`. */
  readonly bits: number
}

/** The properties of a service in order. Devices of the same kind share one layout. */
interface Layout {
  readonly properties: readonly PropertyDeclaration[]
  readonly placeOf: ReadonlyMap<number, number>
}

/** Returns the layout that other devices already have, or a new one. */
type Layouts = (properties: readonly PropertyDeclaration[]) => Layout

/** At this limit all known layouts are forgotten, which only costs memory. A fleet has few kinds of devices. */
const layoutsMax = 10_000

export function sharedLayouts(): Layouts {
  const known = new Map<string, Layout>()
  return (properties) => {
    let key = ''
    for (const { propId, type, bits } of properties) key += `${propId} ${type} ${bits},`
    let layout = known.get(key)
    if (!layout) {
      layout = { properties, placeOf: new Map(properties.map(({ propId }, place) => [propId, place])) }
      if (known.size >= layoutsMax) known.clear()
      known.set(key, layout)
    }
    return layout
  }
}

function declaredBits(modifier: Modifier): number {
  return modifierBits(modifier) & ~modifierFlags.isError
}

/** A property with its value, independent of a layout. */
interface PropertyState extends PropertyDeclaration {
  readonly value: PropertyValue | undefined
  readonly error: string | undefined
  readonly timestamp: number
}

/** The timestamp of a property that was not reported yet. */
const never = -1

/**
 * The immutable state of a service of a device: a layout that devices share, and two arrays with values and timestamps.
 * A numeric property takes 16 bytes.
 */
export class ServiceState implements ServiceView {
  readonly #layout: Layout
  readonly #values: readonly (PropertyValue | undefined)[]
  readonly #timestamps: readonly number[]
  /** By place in the layout. */
  readonly #errors: ReadonlyMap<number, string> | undefined

  private constructor(
    layout: Layout,
    values: readonly (PropertyValue | undefined)[],
    timestamps: readonly number[],
    errors: ReadonlyMap<number, string> | undefined,
  ) {
    this.#layout = layout
    this.#values = values
    this.#timestamps = timestamps
    this.#errors = errors
  }

  /** From an entry of `GET /devices`. */
  static of(properties: Iterable<Property>, layouts: Layouts): ServiceState {
    return ServiceState.#from(
      Array.from(properties, (property) => propertyStateOf(property, property.timestamp ?? never)),
      layouts,
    )
  }

  /** The state after an event; undefined if no properties are left. @param before undefined for a new service */
  static after(
    before: ServiceState | undefined,
    items: readonly Property[],
    timestamp: number,
    layouts: Layouts,
  ): ServiceState | undefined {
    if (before === undefined || !before.#hasLayoutOf(items)) {
      // The items add, redeclare or remove properties.
      const parts = new Map((before ? before.#parts() : []).map((part) => [part.propId, part]))
      for (const item of items) {
        if (item.tag === 'removed') parts.delete(item.propId)
        else parts.set(item.propId, propertyStateOf(item, timestamp))
      }
      return parts.size === 0 ? undefined : ServiceState.#from([...parts.values()], layouts)
    }
    return before.#with(items, timestamp)
  }

  /** The inverse of `#parts`. */
  static #from(parts: readonly PropertyState[], layouts: Layouts): ServiceState {
    const errors = new Map<number, string>()
    for (const [place, { error }] of parts.entries()) if (error !== undefined) errors.set(place, error)
    return new ServiceState(
      layouts(parts.map(({ propId, type, bits }) => ({ propId, type, bits }))),
      parts.map(({ value }) => value),
      parts.map(({ timestamp }) => timestamp),
      errors.size > 0 ? errors : undefined,
    )
  }

  get size(): number {
    return this.#values.length
  }

  has(propId: number): boolean {
    return this.#layout.placeOf.has(propId)
  }

  get(propId: number): PropertyView | undefined {
    const place = this.#layout.placeOf.get(propId)
    return place === undefined ? undefined : this.#viewAt(place)
  }

  valueAt(propId: number): PropertyValue | undefined {
    const place = this.#layout.placeOf.get(propId)
    return place === undefined ? undefined : this.#values[place]
  }

  keys(): MapIterator<number> {
    return this.#layout.placeOf.keys()
  }

  *values(): MapIterator<PropertyView> {
    for (const place of this.#values.keys()) yield this.#viewAt(place)
  }

  *entries(): MapIterator<[number, PropertyView]> {
    for (const view of this.values()) yield [view.propId, view]
  }

  [Symbol.iterator](): MapIterator<[number, PropertyView]> {
    return this.entries()
  }

  forEach(callback: (value: PropertyView, key: number, map: ReadonlyMap<number, PropertyView>) => void): void {
    for (const view of this.values()) callback(view, view.propId, this)
  }

  #parts(): PropertyState[] {
    return this.#layout.properties.map((declared, place) => ({
      ...declared,
      value: this.#values[place],
      error: this.#errors?.get(place),
      timestamp: this.#timestamps[place] as number,
    }))
  }

  #viewAt(place: number): PropertyView {
    const { propId, type, bits } = this.#layout.properties[place] as PropertyDeclaration
    const value = this.#values[place]
    const timestamp = this.#timestamps[place] as number
    const error = this.#errors?.get(place)
    return {
      propId,
      type,
      tag: error === undefined ? 'value' : 'error',
      modifier: modifierOf(error === undefined ? bits : bits | modifierFlags.isError),
      ...(value !== undefined && { value }),
      ...(error !== undefined && { error }),
      ...(timestamp !== never && { timestamp }),
    }
  }

  /** Whether these items change values only, not declarations. */
  #hasLayoutOf(items: readonly Property[]): boolean {
    const { placeOf, properties } = this.#layout
    return items.every(({ tag, propId, type, modifier }) => {
      const declared = properties[placeOf.get(propId) ?? -1]
      return tag !== 'removed' && declared?.type === type && declared.bits === declaredBits(modifier)
    })
  }

  #with(items: readonly Property[], timestamp: number): ServiceState {
    const values = this.#values.slice()
    const timestamps = this.#timestamps.slice()
    const errors = this.#errors || items.some(({ tag }) => tag === 'error') ? new Map(this.#errors) : undefined
    for (const { propId, value, tag, error } of items) {
      const place = this.#layout.placeOf.get(propId) as number
      values[place] = value
      timestamps[place] = timestamp
      if (tag === 'error') errors?.set(place, error ?? '')
      else errors?.delete(place)
    }
    return new ServiceState(this.#layout, values, timestamps, errors?.size ? errors : undefined)
  }
}

function propertyStateOf({ propId, type, modifier, tag, value, error }: Property, timestamp: number): PropertyState {
  return {
    propId,
    type,
    bits: declaredBits(modifier),
    value,
    error: tag === 'error' ? (error ?? '') : undefined,
    timestamp,
  }
}
