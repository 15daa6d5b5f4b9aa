import { isDeepStrictEqual } from 'node:util'
import type { DeclaredService } from '#actors/device/commands'
import { type DeviceState, type ServiceState, serviceOf } from '#actors/device/state'
import type { Entry, PropertyState, RemovedProperty } from '#model/entry'
import type { Shape, ShapeProperty } from '#model/shape'
import type { IndexChange } from '#runtime/actor'

/** Which devices offer a service: entries `<serviceIdentifier>/<deviceIdentifier>`. */
export const serviceIndex = 'service'

/** What a new declaration changes: entries for what differs, and which services the device is found under. */
export interface Declaration {
  readonly entries: readonly Entry[]
  readonly indexes: readonly IndexChange[]
}

/**
 * Compares a declaration with the one before; it replaces it whole. Contract 4.6, 7: one event for each service where
 * something differs; a property declared no more is said once. A service without properties shows nowhere: there is
 * nothing to read of it, and no event that could tell it from one that is gone.
 */
export function declare(state: DeviceState, services: readonly DeclaredService[], now: number): Declaration {
  const entries: Entry[] = []
  const indexes: IndexChange[] = []
  const shown = services.filter(({ shape }) => shape.properties.length > 0)
  const { device, flakeAddress } = state
  for (const { shape, items } of shown) {
    const before = serviceOf(state, shape.serviceIdentifier)
    const changed = changedItems(before, shape, statesOf(items))
    const removed = before ? removedBy(before.shape, shape) : []
    if (before?.shape.id === shape.id && changed.length === 0) continue
    entries.push({ kind: 'declared', device, flakeAddress, shape, at: now, items: changed, removed })
    if (!before) indexes.push({ index: serviceIndex, entry: `${shape.serviceIdentifier}/${device}`, isPresent: true })
  }
  for (const { shape } of state.services) {
    if (shown.some((service) => service.shape.serviceIdentifier === shape.serviceIdentifier)) continue
    entries.push(undeclared(state, shape, now))
    indexes.push({ index: serviceIndex, entry: `${shape.serviceIdentifier}/${device}`, isPresent: false })
  }
  return { entries, indexes }
}

/** The end of one service. */
export function undeclared({ device, flakeAddress }: DeviceState, shape: Shape, now: number): Entry {
  const service = shape.serviceIdentifier
  return { kind: 'undeclared', device, flakeAddress, service, at: now, removed: shape.properties.map(removedOf) }
}

function statesOf(items: DeclaredService['items']): ReadonlyMap<number, PropertyState> {
  const states = new Map<number, PropertyState>()
  for (let at = 0; at < items.length; at += 2) states.set(items[at] as number, items[at + 1] as PropertyState)
  return states
}

function changedItems(
  before: ServiceState | undefined,
  shape: Shape,
  states: ReadonlyMap<number, PropertyState>,
): (number | PropertyState)[] {
  const changed: (number | PropertyState)[] = []
  shape.properties.forEach((property, index) => {
    const place = before?.shape.indexOf.get(property.propId)
    const said = states.get(index)
    if (!before || place === undefined) {
      changed.push(index, said ?? null)
      return
    }
    const old = before.shape.properties[place] as ShapeProperty
    const stood = before.states[place] ?? null
    const keeps = old.type === property.type ? stood : null
    const stands = said ?? keeps
    const isSame = old.type === property.type && old.modifier === property.modifier && isDeepStrictEqual(stands, stood)
    if (!isSame) changed.push(index, stands)
  })
  return changed
}

function removedBy(before: Shape, after: Shape): RemovedProperty[] {
  return before.properties.filter(({ propId }) => !after.indexOf.has(propId)).map(removedOf)
}

function removedOf({ propId, type, modifier }: ShapeProperty): RemovedProperty {
  return { propId, type: type.name, modifier }
}
