import type { DeviceState } from '#actors/device/state'
import { serviceOf } from '#actors/device/state'
import type { QueryTime } from '#api/history'
import type { QueriedProperty, QueriedService } from '#history/history-query'
import type { HistoryRequests } from '#history/history-requests'
import { parsePropertyKey } from '#model/identifier'
import { Problem, type ProblemDetail } from '#model/problem'
import { propertySchemaOf, propIdOfName, type ServiceSchema } from '#model/service-schema'
import type { RouteContext } from '#routes/context'

/** @throws Problem `history_off` */
export function historyOf({ history }: RouteContext): HistoryRequests {
  if (!history) throw new Problem('history_off')
  return history
}

const dayMs = 86_400_000

interface AskedSpan {
  readonly from?: QueryTime | undefined
  readonly to?: QueryTime | undefined
}

export function timeOf(time: QueryTime, now: number): number {
  return 'at' in time ? time.at : Math.max(0, now - time.beforeMs)
}

export function spanOf(query: AskedSpan, now: number, faults: ProblemDetail[]): { from: number; to: number } {
  const to = query.to ? timeOf(query.to, now) : now
  const from = query.from ? timeOf(query.from, now) : Math.max(0, to - dayMs)
  const message = 'must be before to'
  if (from >= to) faults.push({ message, path: 'from' })
  return { from, to }
}

/** `keys`: decimal ids, `0x…` ids, and names of the schema; undefined: all properties. */
export function queriedService(
  state: DeviceState,
  schema: ServiceSchema | undefined,
  names: { readonly device: string; readonly service: string },
  { keys, path }: { readonly keys: readonly string[] | undefined; readonly path: string },
  faults: ProblemDetail[],
): QueriedService {
  const declared = (serviceOf(state, names.service)?.shape.properties ?? []).map(({ propId, type }) => ({
    propId,
    type: type.name,
    ...described(schema, propId),
  }))
  return { ...names, declared, propIds: keys && propIdsOf(keys, schema, path, faults), path }
}

function described(schema: ServiceSchema | undefined, propId: number): Partial<QueriedProperty> {
  const property = schema && propertySchemaOf(schema, propId)
  if (!property) return {}
  const { name, unit } = property
  return { name, ...(unit !== undefined && { unit }), ...(property.enum && { isEnum: true }) }
}

export function propIdOf(key: string, schema: ServiceSchema | undefined): number | undefined {
  return parsePropertyKey(key) ?? (schema && propIdOfName(schema, key))
}

function propIdsOf(
  keys: readonly string[],
  schema: ServiceSchema | undefined,
  path: string,
  faults: ProblemDetail[],
): number[] {
  return keys.flatMap((key) => {
    const propId = propIdOf(key, schema)
    if (propId !== undefined) return [propId]
    faults.push({ path, message: `the service has no property named ${JSON.stringify(key.slice(0, 64))}` })
    return []
  })
}

const [second, minute, hour] = [1_000, 60_000, 3_600_000]
const intervals = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * second),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 6, 12].map((count) => count * hour),
]

/** The interval in ms; for `auto` the smallest one that gives at most `points` buckets. Contract 9. */
export function intervalOf<Interval extends number | undefined>(
  asked: Interval | 'auto',
  { from, to }: { readonly from: number; readonly to: number },
  points: number,
): number | Interval {
  if (asked !== 'auto') return asked
  const countOf = (interval: number) => Math.ceil(to / interval) - Math.floor(from / interval)
  const found = intervals.find((interval) => countOf(interval) <= points)
  if (found !== undefined) return found
  let days = Math.max(1, Math.ceil((to - from) / dayMs / points))
  // Buckets at both ends may lie partly outside the span, so there may be one more.
  while (countOf(days * dayMs) > points && days * dayMs < to) days++
  return days * dayMs
}
