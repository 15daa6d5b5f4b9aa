import { tenantAddress } from '#actors/tenant/commands'
import * as api from '#api/history'
import type { HistoryQuery as StoreQuery } from '#history/history-query'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import { principalKey } from '#model/caller'
import { Problem, type ProblemDetail } from '#model/problem'
import { schemasFor } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { existingDevice } from '#routes/devices'
import { intervalOf, queriedService, readsOf, spanOf } from '#routes/history-questions'
import { ReadSlices } from '#routes/streamed'
import type { Position } from '#runtime/journal'

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
  readsOf(context)
  const state = existingDevice(context, caller.tenant, device)
  const schema = schemasFor(caller, context.system.wake(tenantAddress(caller.tenant))).get(service)
  const now = context.world.now()
  const faults: ProblemDetail[] = []
  const span = spanOf(query, now, faults)
  const properties = { keys: query.properties?.split(','), path: 'properties' }
  const asked = queriedService(state, schema, { device, service }, properties, faults)
  const interval = intervalOf(query.interval, span, query.points ?? 1_000)
  if (faults.length > 0) throw new Problem('invalid', undefined, { details: faults })
  return await answerQuery(
    context,
    call,
    {
      tenant: caller.tenant,
      services: [asked],
      form: 'service',
      ...span,
      now,
      ...(interval === undefined
        ? { raw: { limit: query.limit, isDescending: query.order === 'desc' } }
        : { buckets: { interval, zone: query.tz ?? 'UTC', aggregates: query.aggregates } }),
    },
    query.position,
  )
}

/** The status of a device is stored as a series without a service. */
async function readStatus(
  context: RouteContext,
  call: Call<{ readonly deviceIdentifier: string }, api.StatusHistoryQuery>,
): Promise<Reply> {
  const { caller, query, parameters } = call
  readsOf(context)
  existingDevice(context, caller.tenant, parameters.deviceIdentifier)
  const now = context.world.now()
  const faults: ProblemDetail[] = []
  const span = spanOf(query, now, faults)
  if (faults.length > 0) throw new Problem('invalid', undefined, { details: faults })
  const series = { service: '', declared: [], propIds: undefined, path: '' }
  return await answerQuery(
    context,
    call,
    {
      tenant: caller.tenant,
      services: [{ device: parameters.deviceIdentifier, ...series }],
      form: 'status',
      ...span,
      now,
      raw: { limit: query.limit, isDescending: false },
    },
    query.position,
  )
}

/** @throws Problem `not_found`, `invalid`, `history_behind`, `overloaded` */
async function answerQuery(
  context: RouteContext,
  call: Call,
  query: StoreQuery,
  /** From the link to a following page. */
  firstPosition?: string,
): Promise<Reply> {
  const reads = readsOf(context)
  const reached = await reads.reach(query.tenant)
  const answer = await reads.ask(principalKey(call.caller), (service) => service.query(query))
  if (answer === 'unknown') throw new Problem('not_found')
  if ('faults' in answer) throw new Problem('invalid', undefined, { details: answer.faults })
  const position = positionOf(firstPosition) ?? reached
  const headers = { ...positionHeaders(position), ...(answer.next && nextLink(call, answer.next, position)) }
  return { status: 200, headers, chunks: whilePermitted(context, call, answer.pieces) }
}

function positionHeaders(position: Position) {
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

/** Breaks off when the caller loses the right to it. */
async function* whilePermitted(
  context: RouteContext,
  { caller }: Pick<Call, 'caller'>,
  pieces: readonly Uint8Array[],
): AsyncGenerator<Uint8Array> {
  const slices = new ReadSlices(context.world, caller)
  for (const piece of pieces) {
    await slices.next()
    yield piece
  }
}
