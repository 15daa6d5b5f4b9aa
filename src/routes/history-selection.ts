import { deviceAddress } from '#actors/device/device'
import { tenantAddress } from '#actors/tenant/commands'
import { defaultTenant } from '#actors/tenant/state'
import * as api from '#api/history'
import { type Binding, bind, type Call, ofEachNode, type Reply } from '#http/call'
import { Problem, type ProblemDetail } from '#model/problem'
import { servicesOfDevicesWithin } from '#model/scope'
import { isBindingWithin, schemasFor } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { deviceFinder } from '#routes/devices'
import { historyReply } from '#routes/history-answer'
import { exportHistory } from '#routes/history-export'
import { importHistory } from '#routes/history-import'
import { historyOf, intervalOf, propIdOf, queriedService, spanOf } from '#routes/history-parameters'
import { ReadSlices } from '#routes/read-slices'
import { compileFilter } from '#rules/device-filter'
import { ConcurrencyLimit } from '#runtime/concurrency-limit'
import { namesOf, type Pages, pagesIn } from '#runtime/storage'

/** Each import holds a batch of rows in memory. */
const importLimits = { things: 'imports', perUserMax: 1, perTenantMax: 2 }

/** Routes for the history of several devices. */
export function historySelectionRoutes(context: RouteContext): Binding[] {
  const imports = new ConcurrencyLimit(importLimits)
  return [
    bind(api.queryHistory, (call) => {
      historyOf(context)
      const { body } = call
      return 'series' in body ? readSeries(context, call, body) : readAcross(context, call, body)
    }),
    bind(api.exportHistory, (call) => exportHistory(context, call)),
    // Each node of a cluster has a history of its own.
    ofEachNode(
      bind(api.importHistory, async (call) => {
        imports.check(call.caller)
        imports.enter(call.caller)
        try {
          return await importHistory(context, call)
        } finally {
          imports.leave(call.caller)
        }
      }),
    ),
    ofEachNode(
      bind(api.compactHistory, (call) => {
        if (call.caller.tenant !== defaultTenant) throw new Problem('forbidden')
        historyOf(context).compact()
        return { status: 204 }
      }),
    ),
  ]
}

async function readSeries(context: RouteContext, call: Call, body: api.SeriesHistoryQuestion): Promise<Reply> {
  const { tenant, scope } = call.caller
  const schemas = schemasFor(call.caller, context.system.wake(tenantAddress(tenant)))
  const mayRead = servicesOfDevicesWithin(scope, 'service', 'read')
  const now = context.world.now()
  const faults: ProblemDetail[] = []
  const span = spanOf(body, now, faults)
  const services = body.series.flatMap(
    ({ deviceIdentifier: device, serviceIdentifier: service, properties }, place) => {
      const state = mayRead(device, service) && context.system.peek(deviceAddress(tenant, device))
      if (!state) return []
      const asked = { keys: properties, path: `series.${place}.properties` }
      return [queriedService(state, schemas.get(service), { device, service }, asked, faults)]
    },
  )
  const interval = intervalOf(body.interval, span, body.points ?? 1_000)
  if (faults.length > 0) throw new Problem('invalid', undefined, { details: faults })
  return await historyReply(context, call, (service) =>
    service.query({
      tenant,
      services,
      form: 'series',
      ...span,
      now,
      ...(interval === undefined
        ? { raw: { limit: body.limit, isDescending: body.order === 'desc' } }
        : { buckets: { interval, zone: body.tz ?? 'UTC', aggregates: body.aggregates } }),
    }),
  )
}

async function readAcross(context: RouteContext, call: Call, body: api.AcrossHistoryQuestion): Promise<Reply> {
  const { caller } = call
  const { serviceIdentifier: service, property, aggregate, across, points } = body
  const now = context.world.now()
  const faults: ProblemDetail[] = []
  const span = spanOf(body, now, faults)
  const schema = schemasFor(caller, context.system.wake(tenantAddress(caller.tenant))).get(service)
  const propId = propIdOf(property, schema)
  if (propId === undefined) faults.push({ path: 'property', message: 'the service has no such property' })
  if (faults.length > 0 || propId === undefined) throw new Problem('invalid', undefined, { details: faults })
  // One text, because a list of names takes much longer to reach the thread of history. No name contains a line break.
  const devices = (await selectedDevices(context, call, body)).join('\n')
  const interval = intervalOf(body.interval, span, points ?? 1_000)
  const asked = { tenant: caller.tenant, devices, service, propId, aggregate, across, interval, ...span, now }
  return await historyReply(context, call, (history) => history.fleetAggregate({ ...asked, zone: body.tz ?? 'UTC' }))
}

const tooManyDevices = `matches more than ${api.acrossDevicesMax} devices`

/** The devices that match, and whose service the caller may read. */
async function selectedDevices(
  context: RouteContext,
  { caller }: Call,
  { filter, serviceIdentifier, ...body }: api.AcrossHistoryQuestion,
): Promise<string[]> {
  const mayRead = servicesOfDevicesWithin(caller.scope, 'service', 'read')
  const find = deviceFinder(context, caller, { mayRead }, filter === undefined ? undefined : compileFilter(filter))
  const slices = new ReadSlices(context.world, caller)
  const found: string[] = []
  for await (const page of pagesIn(candidates(context, caller, body), 512)) {
    await slices.next()
    for (const device of page) {
      if (mayRead(device, serviceIdentifier) && find(device)) found.push(device)
      if (slices.isOver) await slices.next()
    }
    if (found.length <= api.acrossDevicesMax) continue
    throw new Problem('invalid', undefined, { details: [{ path: 'filter', message: tooManyDevices }] })
  }
  return found
}

function candidates(
  context: RouteContext,
  { tenant, scope }: Call['caller'],
  { devices, groups }: Pick<api.AcrossHistoryQuestion, 'devices' | 'groups'>,
): Pages {
  if (!devices && !groups) return context.listing.actors('device', tenant, '')
  const stored = context.system.wake(tenantAddress(tenant)).groups
  let count = devices?.length ?? 0
  const members = (groups ?? []).flatMap((group, place) => {
    const found = stored.get(group)?.devices
    count += found?.length ?? 0
    if (count > api.acrossDevicesMax) {
      throw new Problem('invalid', undefined, { details: [{ path: 'groups', message: tooManyDevices }] })
    }
    if (found && isBindingWithin(scope, 'functions', 'read', found)) return found
    throw new Problem('invalid', undefined, { details: [{ path: `groups.${place}`, message: 'is not a group' }] })
  })
  return namesOf([...new Set([...(devices ?? []), ...members])])
}
