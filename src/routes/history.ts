import { serviceOf } from '#actors/device/state'
import { tenantAddress } from '#actors/tenant/commands'
import * as api from '#api/history'
import type { HistoryReads } from '#history/history-reads'
import type { QueriedProperty, HistoryQuery as StoreQuery } from '#history/query'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import { parsePropertyKey } from '#model/identifier'
import { Problem, type ProblemDetail } from '#model/problem'
import { propertySchemaOf, propIdOfName, type ServiceSchema } from '#model/service-schema'
import { schemasFor } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { existingDevice } from '#routes/devices'
import { ReadSlices } from '#routes/streamed'
import type { Position } from '#runtime/journal'

type HistoryCall = Call<{ readonly deviceIdentifier: string; readonly serviceIdentifier: string }, api.HistoryQuery>

/** Routes for the history of properties. */
export function historyRoutes(context: RouteContext): Binding[] {
  const answer = (call: HistoryCall) => read(context, readsOf(context), call)
  return [
    bind(api.readDeviceHistory, answer),
    bind(api.readServiceHistory, answer),
    bind(api.readStatusHistory, (call) => readStatus(context, readsOf(context), call)),
  ]
}

function readsOf({ history }: RouteContext): HistoryReads {
  if (!history) throw new Problem('history_off')
  return history
}

const dayMs = 86_400_000

async function read(context: RouteContext, reads: HistoryReads, call: HistoryCall): Promise<Reply> {
  const { caller, query, parameters } = call
  const { deviceIdentifier: device, serviceIdentifier: service } = parameters
  const state = existingDevice(context, caller.tenant, device)
  const schema = schemasFor(caller, context.system.wake(tenantAddress(caller.tenant))).get(service)
  const declared = (serviceOf(state, service)?.shape.properties ?? []).map(({ propId, type }) => ({
    propId,
    type: type.name,
    ...described(schema, propId),
  }))
  const now = context.world.now()
  const faults: ProblemDetail[] = []
  const span = spanOf(query, now, faults)
  const propIds = query.properties === undefined ? undefined : propIdsOf(query.properties, schema, faults)
  const interval = query.interval === 'auto' ? autoInterval(span, query.points ?? 1_000) : query.interval
  if (faults.length > 0) throw new Problem('invalid', undefined, { details: faults })
  const asked: StoreQuery = {
    tenant: caller.tenant,
    device,
    service,
    declared,
    propIds,
    ...span,
    now,
    ...(interval === undefined
      ? { raw: { limit: query.limit, isDescending: query.order === 'desc' } }
      : { buckets: { interval, zone: query.tz ?? 'UTC', aggregates: query.aggregates } }),
  }
  const { answer, position } = await reads.query(asked)
  if (answer === 'unknown') throw new Problem('not_found')
  if ('faults' in answer) throw new Problem('invalid', undefined, { details: answer.faults })
  const headers = headersOf(call, positionOf(query.position) ?? position, answer.next)
  return { status: 200, headers, chunks: pieces(context, call, answer.text) }
}

/** The status of a device is stored as a series without a service. */
async function readStatus(
  context: RouteContext,
  reads: HistoryReads,
  call: Call<{ readonly deviceIdentifier: string }, api.StatusHistoryQuery>,
): Promise<Reply> {
  const { caller, query, parameters } = call
  existingDevice(context, caller.tenant, parameters.deviceIdentifier)
  const now = context.world.now()
  const faults: ProblemDetail[] = []
  const span = spanOf(query, now, faults)
  if (faults.length > 0) throw new Problem('invalid', undefined, { details: faults })
  const { answer, position } = await reads.query({
    ...span,
    tenant: caller.tenant,
    device: parameters.deviceIdentifier,
    service: '',
    declared: [],
    propIds: undefined,
    now,
    raw: { limit: query.limit, isDescending: false },
  })
  if (answer !== 'unknown' && 'faults' in answer) throw new Problem('invalid', undefined, { details: answer.faults })
  const { series }: StatusAnswer = answer === 'unknown' ? { series: [] } : JSON.parse(answer.text)
  const named = positionOf(query.position) ?? position
  return {
    status: 200,
    headers: headersOf(call, named, answer === 'unknown' ? undefined : answer.next),
    json: { ...span, time: series[0]?.time ?? [], status: series[0]?.value ?? [] },
  }
}

interface StatusAnswer {
  readonly series: readonly { readonly time: readonly number[]; readonly value: readonly string[] }[]
}

function headersOf(call: Call, position: Position, next: { readonly from: number; readonly to: number } | undefined) {
  return {
    'Stream-Epoch': position.epoch,
    'Stream-Offset': String(position.offset),
    ...(next && nextLink(call, next, position)),
  }
}

function described(schema: ServiceSchema | undefined, propId: number): Partial<QueriedProperty> {
  const property = schema && propertySchemaOf(schema, propId)
  if (!property) return {}
  const { name, unit } = property
  return { name, ...(unit !== undefined && { unit }), ...(property.enum && { isEnum: true }) }
}

function spanOf(query: api.StatusHistoryQuery, now: number, faults: ProblemDetail[]): { from: number; to: number } {
  const timeOf = (time: api.QueryTime) => ('at' in time ? time.at : Math.max(0, now - time.beforeMs))
  const to = query.to ? timeOf(query.to) : now
  const from = query.from ? timeOf(query.from) : Math.max(0, to - dayMs)
  const message = 'must be before to'
  if (from >= to) faults.push({ message, path: 'from' })
  return { from, to }
}

/** Decimal ids, `0x…` ids, and names of the schema. */
function propIdsOf(text: string, schema: ServiceSchema | undefined, faults: ProblemDetail[]): number[] {
  return text.split(',').flatMap((key) => {
    const propId = parsePropertyKey(key) ?? (schema && propIdOfName(schema, key))
    if (propId !== undefined) return [propId]
    faults.push({
      path: 'properties',
      message: `the service has no property named ${JSON.stringify(key.slice(0, 64))}`,
    })
    return []
  })
}

const [second, minute, hour] = [1_000, 60_000, 3_600_000]
const intervals = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * second),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 6, 12].map((count) => count * hour),
]

/** The smallest interval that gives at most so many buckets. Contract 9. */
function autoInterval({ from, to }: { readonly from: number; readonly to: number }, points: number): number {
  const countOf = (interval: number) => Math.ceil(to / interval) - Math.floor(from / interval)
  const found = intervals.find((interval) => countOf(interval) <= points)
  if (found !== undefined) return found
  let days = Math.max(1, Math.ceil((to - from) / dayMs / points))
  // One bucket lies on each side of the span.
  while (countOf(days * dayMs) > points && days * dayMs < to) days++
  return days * dayMs
}

function positionOf(text: string | undefined): Position | undefined {
  const at = text?.lastIndexOf('.') ?? -1
  return text === undefined ? undefined : { epoch: text.slice(0, at), offset: Number(text.slice(at + 1)) }
}

function nextLink({ target }: Call, span: { readonly from: number; readonly to: number }, position: Position) {
  const query = new URLSearchParams(target.query)
  query.set('from', String(span.from))
  query.set('to', String(span.to))
  query.set('position', `${position.epoch}.${position.offset}`)
  return { Link: `<${target.path}?${query}>; rel="next"` }
}

const pieceCharacters = 64 * 1024

/** Breaks off when the caller loses the right to it. */
async function* pieces(context: RouteContext, { caller }: Call, text: string): AsyncGenerator<string> {
  const slices = new ReadSlices(context.world, caller)
  for (let at = 0; at < text.length; at += pieceCharacters) {
    await slices.next()
    yield text.slice(at, at + pieceCharacters)
  }
}
