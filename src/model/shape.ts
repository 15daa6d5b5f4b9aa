import type { PropertyType } from '#model/property-type'

/**
 * A declared service: its properties with their types and modifiers. Immutable and interned: a fleet of equal devices
 * shares one shape, and stored entries name the shape by its id.
 */
export interface Shape {
  /** Derived from the content: equal declarations have equal ids. */
  readonly id: string
  readonly serviceIdentifier: string
  readonly properties: readonly ShapeProperty[]
  /** The index in `properties` by propId. */
  readonly indexOf: ReadonlyMap<number, number>
}

export interface ShapeProperty {
  readonly propId: number
  readonly type: PropertyType
  /** Modifier flags as bits (`modifierBits`). */
  readonly modifier: number
}

/** Finds or makes the shape of a declaration. */
export type InternShape = (serviceIdentifier: string, properties: readonly ShapeProperty[]) => Shape

/** The stored content, from which the id is derived and the shape is created again. */
export type ShapeContent = readonly [
  serviceIdentifier: string,
  properties: readonly (readonly [propId: number, type: string, modifier: number])[],
]

export function contentOf(serviceIdentifier: string, properties: readonly ShapeProperty[]): ShapeContent {
  return [serviceIdentifier, properties.map(({ propId, type, modifier }) => [propId, type.name, modifier])]
}

export function shapeOf(id: string, serviceIdentifier: string, properties: readonly ShapeProperty[]): Shape {
  return { id, serviceIdentifier, properties, indexOf: new Map(properties.map(({ propId }, index) => [propId, index])) }
}
