import { isDeepStrictEqual } from 'node:util'
import type { DeclaredService } from '#actors/device/commands'
import type { ServiceState } from '#actors/device/service-state'
import { type DeviceState, serviceOf } from '#actors/device/state'
import type { Entry, PropertyState, RemovedProperty } from '#model/entry'
import { contentOf, type Shape, type ShapeProperty } from '#model/shape'
import type { IndexChange, SharedRecord } from '#runtime/actor'

/** The index of devices that declare a service. Its rows: `<serviceIdentifier>/<deviceIdentifier>`. */
export const serviceIndex = 'service'

/** The effects of a new declaration: entries for events, and all other changes. */
export interface Declaration {
  readonly entries: readonly Entry[]
  readonly changes: readonly ServiceDeclared[]
  readonly indexes: readonly IndexChange[]
  readonly shared: readonly SharedRecord[]
}

/** A service was declared with a new shape, but no value changed and no property was removed, so there is no event. */
export interface ServiceDeclared {
  readonly type: 'service_declared'
  readonly shape: Shape
}

/**
 * Compares a declaration with the previous one, which it replaces as a whole. Contract 4.6, 7: there is one event for
 * each service that is no longer declared. There is also one event for each service in which a value or a modifier
 * differs, a property is no longer declared, or a property lost its value because its type changed. Declared properties
 * without a value are readable and cause no event.
 *
 * A service without properties is not stored: it has nothing to read.
 */
export function declare(state: DeviceState, services: readonly DeclaredService[], now: number): Declaration {
  const entries: Entry[] = []
  const changes: ServiceDeclared[] = []
  const indexes: IndexChange[] = []
  const shared: SharedRecord[] = []
  const stored = services.filter(({ shape }) => shape.properties.length > 0)
  const { device, flakeAddress } = state
  for (const { shape, items } of stored) {
    const before = serviceOf(state, shape.serviceIdentifier)
    const isNew = before?.shape.id !== shape.id
    const changed = changedItems(before, shape, statesOf(items))
    const removed = before && isNew ? removedBy(before, shape, statesOf(items)) : []
    if (isNew) shared.push(shapeRecord(shape))
    if (changed.length > 0 || removed.length > 0) {
      entries.push({ kind: 'declared', device, flakeAddress, shape, at: now, items: changed, removed })
    } else if (isNew) changes.push({ type: 'service_declared', shape })
    if (!before) indexes.push(serviceRow(device, shape, true))
  }
  for (const { shape } of state.services) {
    if (stored.some((service) => service.shape.serviceIdentifier === shape.serviceIdentifier)) continue
    entries.push(undeclaredEntry(state, shape, now))
    indexes.push(serviceRow(device, shape, false))
  }
  return { entries, changes, indexes, shared }
}

/** The entry for a service that is no longer declared. */
export function undeclaredEntry({ device, flakeAddress }: DeviceState, shape: Shape, now: number): Entry {
  const service = shape.serviceIdentifier
  return { kind: 'undeclared', device, flakeAddress, service, at: now, removed: shape.properties.map(removedOf) }
}

export function serviceRow(device: string, { serviceIdentifier }: Shape, isPresent: boolean): IndexChange {
  return { index: serviceIndex, entry: `${serviceIdentifier}/${device}`, isPresent }
}

function statesOf(items: DeclaredService['items']): ReadonlyMap<number, PropertyState> {
  const states = new Map<number, PropertyState>()
  for (let at = 0; at < items.length; at += 2) states.set(items[at] as number, items[at + 1] as PropertyState)
  return states
}

/** Properties with a value, if the value, the type or the modifier differs from before. */
function changedItems(
  before: ServiceState | undefined,
  shape: Shape,
  states: ReadonlyMap<number, PropertyState>,
): (number | PropertyState)[] {
  const changed: (number | PropertyState)[] = []
  shape.properties.forEach((property, index) => {
    const old = before && propertyBefore(before, property)
    const previous = old?.isSameType ? old.state : null
    const current = states.get(index) ?? previous
    if (current === null) return
    if (!old || old.modifier !== property.modifier || !isDeepStrictEqual(current, previous))
      changed.push(index, current)
  })
  return changed
}

/** Properties that are no longer declared, or that lose their value because they are declared with another type. */
function removedBy(before: ServiceState, after: Shape, states: ReadonlyMap<number, PropertyState>): RemovedProperty[] {
  return before.shape.properties
    .filter((property, place) => {
      const index = after.indexOf.get(property.propId)
      if (index === undefined) return true
      const isSameType = after.properties[index]?.type === property.type
      return !isSameType && before.stateOf(place) !== null && !states.has(index)
    })
    .map(removedOf)
}

function propertyBefore(before: ServiceState, { propId, type }: ShapeProperty) {
  const place = before.shape.indexOf.get(propId)
  if (place === undefined) return undefined
  const old = before.shape.properties[place] as ShapeProperty
  return { isSameType: old.type === type, modifier: old.modifier, state: before.stateOf(place) }
}

function removedOf({ propId, type, modifier }: ShapeProperty): RemovedProperty {
  return { propId, type: type.name, modifier }
}

/** Number of shapes of a declaration that the device does not have yet; the store may have to add each of them. */
export function newShapeCount(state: DeviceState | undefined, services: readonly DeclaredService[]): number {
  return services.filter(({ shape }) => {
    const before = state && serviceOf(state, shape.serviceIdentifier)
    return shape.properties.length > 0 && before?.shape.id !== shape.id
  }).length
}

function shapeRecord(shape: Shape): SharedRecord {
  return { kind: 'shape', id: shape.id, value: contentOf(shape.serviceIdentifier, shape.properties) }
}
