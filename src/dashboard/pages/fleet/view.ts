import type { PropertySchema } from '#dashboard/values/format-value'

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
    status: isStatus(status) ? status : 'any',
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

function isStatus(text: string): text is StatusFilter {
  return Object.hasOwn(statusFilters, text)
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
