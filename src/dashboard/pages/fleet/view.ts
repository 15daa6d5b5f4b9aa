import type { PropertySchema } from '#dashboard/values/format-value'
import type { EventOf, StreamEvent } from '#model/event'
import type { JsonValue } from '#model/json-value'
import type { PropertyValue } from '#model/property-type'

/** The filters and the order of the fleet. Stored in the address, so that a link shows the same view. */

export const statusFilters = { any: 'All', online: 'Online', idle: 'Idle', offline: 'Offline' } as const
type StatusFilter = keyof typeof statusFilters

type Comparable = number | string

/** `logic`: the operator of JsonLogic. */
export const operators = {
  '>': { label: 'more than', logic: '>', isMet: (actual: Comparable, wanted: Comparable) => actual > wanted },
  '>=': { label: 'at least', logic: '>=', isMet: (actual: Comparable, wanted: Comparable) => actual >= wanted },
  '<': { label: 'less than', logic: '<', isMet: (actual: Comparable, wanted: Comparable) => actual < wanted },
  '<=': { label: 'at most', logic: '<=', isMet: (actual: Comparable, wanted: Comparable) => actual <= wanted },
  '=': { label: 'equal to', logic: '==', isMet: (actual: Comparable, wanted: Comparable) => actual === wanted },
  '≠': { label: 'not equal to', logic: '!=', isMet: (actual: Comparable, wanted: Comparable) => actual !== wanted },
} as const
export type Operator = keyof typeof operators

/** A property of a service, compared with a number, a text, or a name in its enumeration. */
export interface Condition {
  readonly serviceIdentifier: string
  readonly propId: number
  readonly operator: Operator
  readonly value: string
}

export interface FleetView {
  /** Matches identifiers, names, sites, tags and versions, in any case. */
  readonly search: string
  readonly status: StatusFilter
  /** Only devices with this service; empty: any. */
  readonly service: string
  readonly condition: Condition | undefined
  readonly sort: string
  readonly isDescending: boolean
}

export const defaultView: FleetView = {
  search: '',
  status: 'any',
  service: '',
  condition: undefined,
  sort: 'device',
  isDescending: false,
}

/** The inverse of `queryOf`; ignores invalid parts. */
export function viewOf(query: string): FleetView {
  const fields = new URLSearchParams(query)
  const status = fields.get('status') ?? ''
  const sort = fields.get('sort') ?? defaultView.sort
  return {
    search: fields.get('search') ?? '',
    status: Object.hasOwn(statusFilters, status) ? (status as StatusFilter) : 'any',
    service: fields.get('service') ?? '',
    condition: conditionOf(fields),
    sort: sort.replace(/^-/, '') || defaultView.sort,
    isDescending: sort.startsWith('-'),
  }
}

export function queryOf({ search, status, service, condition, sort, isDescending }: FleetView): string {
  const fields = new URLSearchParams()
  if (search !== '') fields.set('search', search)
  if (status !== 'any') fields.set('status', status)
  if (service !== '') fields.set('service', service)
  if (condition) {
    fields.set('where', `${condition.serviceIdentifier}/${condition.propId}`)
    fields.set('is', condition.operator + condition.value)
  }
  if (sort !== defaultView.sort || isDescending) fields.set('sort', (isDescending ? '-' : '') + sort)
  return fields.toString()
}

function conditionOf(fields: URLSearchParams): Condition | undefined {
  const [, serviceIdentifier, propId] = /^(.+)\/(\d+)$/.exec(fields.get('where') ?? '') ?? []
  const [, operator, value] = /^(>=|<=|>|<|=|≠)(.+)$/s.exec(fields.get('is') ?? '') ?? []
  if (serviceIdentifier === undefined || value === undefined) return undefined
  return { serviceIdentifier, propId: Number(propId), operator: operator as Operator, value }
}

/** A number if the text is a number, yes or no, or a name in the enumeration; otherwise the text itself. */
export function parseConditionValue(text: string, about: PropertySchema | undefined): number | string {
  const trimmed = text.trim()
  const named = Object.entries(about?.enum ?? {}).find(([, { name }]) => name.toLowerCase() === trimmed.toLowerCase())
  if (named) return Number(named[0])
  const spoken = { yes: 1, true: 1, no: 0, false: 0 }[trimmed.toLowerCase()]
  if (spoken !== undefined) return spoken
  const number = Number(trimmed.replace(',', '.'))
  return trimmed === '' || Number.isNaN(number) ? trimmed : number
}

/** Numbers have all operators. Texts and names can only be equal or not. */
export function operatorsFor(about: PropertySchema | undefined): readonly Operator[] {
  const isNamed = about?.enum !== undefined || ['bool', 'string', 'uuid'].includes(about?.type ?? '')
  return isNamed ? ['=', '≠'] : (Object.keys(operators) as Operator[])
}

/** The query fields of `GET /devices`, by which the server finds the devices of a view. Contract 3.7, 12. */
export interface FleetQuery {
  readonly search?: string
  readonly filter?: string
}

/** The value of the view's condition, parsed. */
export type Wanted = number | string | undefined

export function fleetQueryOf({ search, status, service, condition }: FleetView, wanted: Wanted): FleetQuery {
  const parts: JsonValue[] = []
  if (status !== 'any') parts.push({ '==': [{ var: 'status' }, status] })
  if (service !== '') parts.push({ var: `services.${service}` })
  if (condition && wanted !== undefined) {
    const path = { var: `services.${condition.serviceIdentifier}.0x${condition.propId.toString(16)}` }
    parts.push({ [operators[condition.operator].logic]: [path, wanted] })
  }
  return {
    ...(search.trim() !== '' && { search: search.trim() }),
    ...(parts.length > 0 && { filter: JSON.stringify({ and: parts }) }),
  }
}

interface ShownDevices {
  isShown(device: string): boolean
  /** Whether the user receives DEVICE_ADD. */
  readonly receivesAdded: boolean
}

/** The device that this event may have added to the view, or removed from it. */
export function deviceToCheck(
  event: StreamEvent,
  { search, status, service, condition }: FleetView,
  wanted: Wanted,
  { isShown, receivesAdded }: ShownDevices,
): string | undefined {
  const { deviceIdentifier: device } = event as EventOf<'DEVICE_ADD'>
  switch (event.type) {
    case 'DEVICE_ADD':
    case 'DEVICE_DELETE':
      return device
    case 'META_STATUS_CHANGE':
      return status === 'any' ? undefined : device
    case 'META_SET':
    case 'META_DELETE':
    case 'DEVICE_DISCOVERY':
      return search === '' ? undefined : device
    case 'OBJECT_UPDATED': {
      const { serviceIdentifier, updates } = event as EventOf<'OBJECT_UPDATED'>
      const shown = isShown(device)
      // A caller who may not receive DEVICE_DELETE receives only this event after a deletion.
      if (updates.some(({ tag }) => tag === 'removed')) return shown ? device : undefined
      if (condition?.serviceIdentifier === serviceIdentifier) {
        const update = updates.find(({ propId }) => propId === condition.propId)
        return update && isMet(update.value, condition, wanted) !== shown ? device : undefined
      }
      // The device may be new, or may have a new service.
      const isAll = service === '' && search === '' && status === 'any'
      const isNew = isAll ? !receivesAdded : service === serviceIdentifier
      return isNew && !condition && !shown ? device : undefined
    }
    default:
      return undefined
  }
}

function isMet(value: PropertyValue | undefined, { operator }: Condition, wanted: Wanted): boolean {
  if (value === undefined || wanted === undefined || typeof value === 'object') return false
  return operators[operator].isMet(typeof wanted === 'number' ? Number(value) : String(value), wanted)
}
