import { tenantAddress } from '#actors/tenant/commands'
import * as api from '#api/history'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import { Problem, type ProblemDetail } from '#model/problem'
import { schemasFor } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { existingDevice } from '#routes/devices'
import { historyReply } from '#routes/history-answer'
import { historyOf, intervalOf, queriedService, spanOf } from '#routes/history-parameters'

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
  const now = context.world.now()
  const faults: ProblemDetail[] = []
  const span = spanOf(query, now, faults)
  const properties = { keys: query.properties?.split(','), path: 'properties' }
  const asked = queriedService(state, schema, { device, service }, properties, faults)
  const interval = intervalOf(query.interval, span, query.points ?? 1_000)
  if (faults.length > 0) throw new Problem('invalid', undefined, { details: faults })
  return await historyReply(
    context,
    call,
    (history) =>
      history.query({
        tenant: caller.tenant,
        services: [asked],
        form: 'service',
        ...span,
        now,
        ...(interval === undefined
          ? { raw: { limit: query.limit, isDescending: query.order === 'desc' } }
          : { buckets: { interval, zone: query.tz ?? 'UTC', aggregates: query.aggregates } }),
      }),
    query.position,
  )
}

/** The status of a device is stored as a series without a service. */
async function readStatus(
  context: RouteContext,
  call: Call<{ readonly deviceIdentifier: string }, api.StatusHistoryQuery>,
): Promise<Reply> {
  const { caller, query, parameters } = call
  historyOf(context)
  existingDevice(context, caller.tenant, parameters.deviceIdentifier)
  const now = context.world.now()
  const faults: ProblemDetail[] = []
  const span = spanOf(query, now, faults)
  if (faults.length > 0) throw new Problem('invalid', undefined, { details: faults })
  const series = { service: '', declared: [], propIds: undefined, path: '' }
  return await historyReply(
    context,
    call,
    (history) =>
      history.query({
        tenant: caller.tenant,
        services: [{ device: parameters.deviceIdentifier, ...series }],
        form: 'status',
        ...span,
        now,
        raw: { limit: query.limit, isDescending: false },
      }),
    query.position,
  )
}
