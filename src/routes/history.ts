import { type DeviceState, serviceOf } from '#actors/device/state'
import { tenantAddress } from '#actors/tenant/commands'
import * as api from '#api/history'
import type { HistoryAnswer, HistoryQuery, QueriedProperty, QueriedService } from '#history/history-query'
import type { HistoryQueries, HistoryRequests } from '#history/history-requests'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import { principalKey } from '#model/caller'
import { parsePropertyKey } from '#model/identifier'
import { Problem, type ProblemDetail } from '#model/problem'
import { propertySchemaOf, propIdOfName, type ServiceSchema } from '#model/service-schema'
import { schemasFor } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { existingDevice } from '#routes/devices'
import type { Position } from '#runtime/journal'
import { ReadSlices } from '#runtime/slices'

type HistoryCall = Call<{ readonly deviceIdentifier: string; readonly serviceIdentifier: string }, api.HistoryQuery>

/** Routes for the history of one service, and of the status of a device. */
export function historyRoutes(context: RouteContext): Binding[] {
  const answer = (call: HistoryCall) => read(context, call)
  return [
    bind(api.readDeviceHistory, answer),
    bind(api.readServiceHistory, answer),
    bind(api.readStatusHistory, (call) => readStatus(context, call)),
  ]
}

async function read(context: RouteContext, call: HistoryCall): Promise<Reply> {
  const { caller, query, parameters } = call
  const { deviceIdentifier: device, serviceIdentifier: service } = parameters
  historyOf(context)
  const state = existingDevice(context, caller.tenant, device)
  const schema = schemasFor(caller, context.system.wake(tenantAddress(caller.tenant))).get(service)
  const properties = { keys: query.properties?.split(','), path: 'properties' }
  return await seriesReply(context, call, query, 'service', (faults) => [
    queriedService(state, schema, { device, service }, properties, faults),
  ])
}

/** The status of a device is stored as a series without a service. */
async function readStatus(
  context: RouteContext,
  call: Call<{ readonly deviceIdentifier: string }, api.StatusHistoryQuery>,
): Promise<Reply> {
  const { deviceIdentifier: device } = call.parameters
  historyOf(context)
  existingDevice(context, call.caller.tenant, device)
  const series = { device, service: '', declared: [], propIds: undefined, path: '' }
  return await seriesReply(context, call, call.query, 'status', () => [series])
}

/** Reads points, or buckets if there is an interval. `servicesOf` adds the faults of the request to its argument. */
export async function seriesReply(
  context: RouteContext,
  call: Call,
  asked: Omit<api.HistoryQuery, 'properties'>,
  form: HistoryQuery['form'],
  servicesOf: (faults: ProblemDetail[]) => readonly QueriedService[],
): Promise<Reply> {
  const now = context.world.now()
  const faults: ProblemDetail[] = []
  const span = spanOf(asked, now, faults)
  const services = servicesOf(faults)
  const interval = intervalOf(asked.interval, span, asked.points ?? 1_000)
  if (faults.length > 0) throw new Problem('invalid', undefined, { details: faults })
  const shape =
    interval === undefined
      ? { raw: { limit: asked.limit, isDescending: asked.order === 'desc' } }
      : { buckets: { interval, zone: asked.tz ?? 'UTC', aggregates: asked.aggregates } }
  const query = { tenant: call.caller.tenant, services, form, ...span, now, ...shape }
  return await historyReply(context, call, (history) => history.query(query), asked.position)
}

/**
 * Asks history after it has reached the present position of the stream. `firstPosition`: the position of the first
 * page, from the link to a further page.
 *
 * @throws Problem `not_found`, `invalid`, `history_behind`, `overloaded`
 */
export async function historyReply(
  context: RouteContext,
  call: Call,
  question: (service: HistoryQueries) => Promise<HistoryAnswer>,
  firstPosition?: string,
): Promise<Reply> {
  const { caller, target } = call
  const reads = historyOf(context)
  const reached = await reads.reach(caller.tenant)
  const answer = await reads.ask(principalKey(caller), question)
  if (answer === 'unknown') throw new Problem('not_found')
  if ('faults' in answer) throw new Problem('invalid', undefined, { details: answer.faults })
  const position = positionOf(firstPosition) ?? reached
  const link = target.method === 'POST' || !answer.next ? {} : nextLink(call, answer.next, position)
  return {
    status: 200,
    headers: { ...positionHeaders(position), ...link },
    chunks: whilePermitted(context, call, reads.piecesOf(answer)),
  }
}

export function positionHeaders(position: Position) {
  return { 'Stream-Epoch': position.epoch, 'Stream-Offset': String(position.offset) }
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

/** Breaks off when the rights of the caller change or end. */
async function* whilePermitted(
  context: RouteContext,
  { caller }: Pick<Call, 'caller'>,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const slices = new ReadSlices(context.world, caller)
  for await (const piece of pieces) {
    await slices.next()
    yield piece
  }
}

/** @throws Problem `history_off` */
export function historyOf({ history }: RouteContext): HistoryRequests {
  if (!history) throw new Problem('history_off')
  return history
}

const dayMs = 86_400_000

interface AskedSpan {
  readonly from?: api.QueryTime | undefined
  readonly to?: api.QueryTime | undefined
}

export function timeOf(time: api.QueryTime, now: number): number {
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
