import { isDeepStrictEqual } from 'node:util'
import type { DeclaredService, DeviceCommands, WriteOrder } from '#actors/device/commands'
import { type DeviceState, noDesired, serviceOf } from '#actors/device/state'
import { decideWrite } from '#actors/device/writes'
import type { DesiredItem } from '#model/desired'
import type { DesiredSet, Entry, Items } from '#model/entry'
import { modifierFlags } from '#model/modifier'
import { Problem } from '#model/problem'
import { checkWrittenValue, parseWriteKey, placeOf } from '#model/property-write'
import type { Shape, ShapeProperty } from '#model/shape'
import { answer, type Decision, record, refuse, type Turn } from '#runtime/actor'

/** Desired values of a device. Contract 12. */

/** The values that were requested together, as one WRITE. */
export interface DesiredOrder {
  readonly id: string
  readonly order: WriteOrder
}

type Updates = WriteOrder['updates'][number][]

const noItems: readonly DesiredItem[] = Object.freeze([])

export function desiredOf({ desired }: DeviceState, service: string): readonly DesiredItem[] {
  return desired.get(service) ?? noItems
}

export function applyDesiredSet(state: DeviceState, { service, items }: DesiredSet): void {
  const desired = new Map(state.desired)
  if (items.length > 0) desired.set(service, items)
  else desired.delete(service)
  state.desired = desired.size > 0 ? desired : noDesired
}

/**
 * Replaces the desired values of a service, or changes some of them: null removes a value. The values are checked as in
 * a write. A value that is desired already, and was not refused, stays as it is. Answered with all items of the
 * service.
 */
export function decideSetDesired(
  state: DeviceState,
  { service, values, isWhole, schema, id }: DeviceCommands['set_desired'],
  { now }: Turn,
): Decision<Entry> {
  const removed = isWhole ? [] : Object.keys(values).filter((key) => values[key] === null)
  const wanted = Object.fromEntries(Object.entries(values).filter(([key]) => !removed.includes(key)))
  const checked = decideWrite(state, { service, values: wanted, schema })
  if (checked.type !== 'answer') return checked
  const shape = serviceOf(state, service)?.shape as Shape
  const removedIds = new Set<number>()
  for (const key of removed) {
    const place = placeOf(parseWriteKey(key), shape, schema)
    if (place === undefined) return refuse(new Problem('property_unknown', `there is no property ${key}`))
    removedIds.add((shape.properties[place] as ShapeProperty).propId)
  }
  const before = desiredOf(state, service)
  const { updates } = checked.value as WriteOrder
  const kept = before.filter((item) => {
    const update = updates.find(({ propId }) => propId === item.propId)
    if (!update) return !isWhole && !removedIds.has(item.propId)
    return item.status !== 'REJECTED' && isDeepStrictEqual(update.value, item.value)
  })
  const added = updates
    .filter(({ propId }) => !kept.some((item) => item.propId === propId))
    .map(({ propId, value }): DesiredItem => ({ propId, value, since: now, id, status: 'PENDING' }))
  if (added.length === 0 && kept.length === before.length) return answer(before)
  const items = [...kept, ...added].sort((one, other) => one.propId - other.propId)
  return record([setOf(state, service, items, now)], { answer: items })
}

/**
 * The WRITEs that a connection has not received, as `DesiredOrder[]`. A value that the schema no longer permits becomes
 * `REJECTED` instead.
 */
export function decideSendDesired(
  state: DeviceState,
  { sent, schemas }: DeviceCommands['send_desired'],
  { now }: Turn,
): Decision<Entry> {
  const { flakeAddress } = state
  const entries: Entry[] = []
  const orders = new Map<string, { id: string; order: Omit<WriteOrder, 'updates'> & { updates: Updates } }>()
  for (const [service, before] of state.desired) {
    const shape = serviceOf(state, service)?.shape
    const schema = schemas.get(service)
    const items = before.map((item): DesiredItem => {
      const { propId, id, status } = item
      const property = shape?.properties[shape.indexOf.get(propId) ?? -1]
      if (!property || status === 'REJECTED' || sent.has(id)) return item
      const written = checkWrittenValue(property, schema, item.value)
      if ('fault' in written) return { ...item, status: 'REJECTED', message: written.fault }
      const order = orders.get(id)?.order ?? { flakeAddress, service, updates: [] as Updates }
      order.updates.push({ propId, type: property.type, value: written.value })
      orders.set(id, { id, order })
      return status === 'SENT' ? item : { ...item, status: 'SENT' }
    })
    if (items.some((item, place) => item !== before[place])) entries.push(setOf(state, service, items, now))
  }
  return record(entries, { answer: [...orders.values()] })
}

/** A device answered a WRITE of desired values. Answers to values that were replaced since have no effect. */
export function decideDesiredResult(
  state: DeviceState,
  { id, results }: DeviceCommands['desired_result'],
  { now }: Turn,
): Decision<Entry> {
  const entries: Entry[] = []
  for (const [service, before] of state.desired) {
    const items = before.flatMap((item): DesiredItem[] => {
      const result = item.id === id && results.find(({ propId }) => propId === item.propId)
      if (!result) return [item]
      const { status, message } = result
      return status === 'OK' ? [] : [{ ...item, status, ...(message !== undefined && { message }) }]
    })
    if (!isDeepStrictEqual(items, before)) entries.push(setOf(state, service, items, now))
  }
  return entries.length === 0 ? answer(undefined) : record(entries)
}

/**
 * Ends desired values that the device reports, and values that its declaration no longer permits: the property is gone,
 * read-only or of another type. `declared`: the services of a HELLO or POST with their values, because no entry
 * contains unchanged values.
 */
export function endReachedValues(
  state: DeviceState,
  decision: Decision<Entry>,
  { now }: Turn,
  declared: readonly DeclaredService[] = [],
): Decision<Entry> {
  if (state.desired === noDesired || decision.type !== 'record') return decision
  const left = new Map(state.desired)
  const drop = (service: string, isDropped: (item: DesiredItem) => boolean) => {
    const items = left.get(service)
    if (items?.some(isDropped))
      left.set(
        service,
        items.filter((item) => !isDropped(item)),
      )
  }
  const report = (shape: Shape, items: Items) => drop(shape.serviceIdentifier, (item) => isReported(item, shape, items))
  for (const change of (decision.changes ?? []) as readonly { readonly type: string; readonly shape?: Shape }[]) {
    const { shape } = change
    if (change.type === 'service_declared' && shape) drop(shape.serviceIdentifier, (item) => !isWritable(item, shape))
  }
  for (const entry of decision.events) {
    if (entry.kind === 'undeclared') drop(entry.service, () => true)
    else if (entry.kind === 'declared') drop(entry.shape.serviceIdentifier, (item) => !isWritable(item, entry.shape))
    if (entry.kind === 'reported' || entry.kind === 'declared') report(entry.shape, entry.items)
  }
  for (const { shape, items } of declared) report(shape, items)
  const entries = [...left]
    .filter(([service, items]) => items !== state.desired.get(service))
    .map(([service, items]) => setOf(state, service, items, now))
  return entries.length === 0 ? decision : { ...decision, events: [...decision.events, ...entries] }
}

/** The entries that end all desired values before the removal of a device. */
export function desiredEnds(state: DeviceState, now: number): readonly Entry[] {
  return [...state.desired.keys()].map((service) => setOf(state, service, noItems, now))
}

function isWritable({ propId, value }: DesiredItem, { properties, indexOf }: Shape): boolean {
  const property = properties[indexOf.get(propId) ?? -1]
  if (!property || (property.modifier & modifierFlags.isReadOnly) !== 0) return false
  return isDeepStrictEqual(property.type.accept(value), value)
}

function isReported({ propId, value }: DesiredItem, { indexOf }: Shape, items: Items): boolean {
  const index = indexOf.get(propId)
  for (let at = 0; at < items.length; at += 2)
    if (items[at] === index && isDeepStrictEqual(items[at + 1], value)) return true
  return false
}

function setOf({ device }: DeviceState, service: string, items: readonly DesiredItem[], at: number): DesiredSet {
  return { kind: 'desired_set', device, service, at, items }
}
