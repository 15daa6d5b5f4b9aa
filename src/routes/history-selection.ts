import { deviceAddress } from '#actors/device/device'
import { tenantAddress } from '#actors/tenant/commands'
import { defaultTenant } from '#actors/tenant/state'
import * as api from '#api/history'
import type { HistoryQuery, QueriedService } from '#history/history-query'
import type { HistoryRequests } from '#history/history-requests'
import { type Binding, bind, type Call, ofEachNode, type Reply } from '#http/call'
import { principalKey } from '#model/caller'
import { Problem, type ProblemDetail } from '#model/problem'
import { servicesOfDevicesWithin } from '#model/scope'
import { isBindingWithin, schemasFor } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { deviceFinder } from '#routes/devices'
import {
  historyOf,
  historyReply,
  intervalOf,
  positionHeaders,
  propIdOf,
  queriedService,
  seriesReply,
  spanOf,
} from '#routes/history'
import { importHistory } from '#routes/history-import'
import { compileFilter } from '#rules/device-filter'
import { ConcurrencyLimit } from '#runtime/fair-queue'
import { ReadSlices } from '#runtime/slices'
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
  return await seriesReply(context, call, body, 'series', (faults) =>
    body.series.flatMap(({ deviceIdentifier: device, serviceIdentifier: service, properties }, place) => {
      const state = mayRead(device, service) && context.system.peek(deviceAddress(tenant, device))
      if (!state) return []
      const asked = { keys: properties, path: `series.${place}.properties` }
      return [queriedService(state, schemas.get(service), { device, service }, asked, faults)]
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

type ExportCall = Call<unknown, api.HistoryExportQuery>

const defaultAggregates = ['min', 'avg', 'max'] as const

/**
 * The rows of all services of the devices, one service after the other. A service is read when the client has taken
 * the previous rows.
 */
async function exportHistory(context: RouteContext, call: ExportCall): Promise<Reply> {
  const { caller, query } = call
  const reads = historyOf(context)
  const now = context.world.now()
  const faults: ProblemDetail[] = []
  const span = spanOf(query, now, faults)
  const interval = intervalOf(query.interval, span, 1_000)
  const keys = query.properties?.split(',')
  const schemas = schemasFor(caller, context.system.wake(tenantAddress(caller.tenant)))
  for (const key of keys ?? []) {
    if (query.serviceIdentifier.some((service) => propIdOf(key, schemas.get(service)) !== undefined)) continue
    faults.push({ path: 'properties', message: `no service has a property named ${JSON.stringify(key.slice(0, 64))}` })
  }
  if (faults.length > 0) throw new Problem('invalid', undefined, { details: faults })
  const mayRead = servicesOfDevicesWithin(caller.scope, 'service', 'read')
  const services = query.deviceIdentifier.flatMap((device) =>
    query.serviceIdentifier.filter((service) => mayRead(device, service)).map((service) => ({ device, service })),
  )
  const exists = ({ device }: { readonly device: string }) =>
    context.system.peek(deviceAddress(caller.tenant, device)) !== undefined
  if (!services.some(exists)) throw new Problem('not_found')
  const aggregates = query.aggregates ?? defaultAggregates
  const asked = {
    tenant: caller.tenant,
    form: query.format,
    now,
    ...(interval === undefined
      ? { raw: { limit: undefined, isDescending: false } }
      : { buckets: { interval, zone: 'UTC', aggregates, since: span.from } }),
  } as const
  const position = await reads.reach(caller.tenant)
  const columns = interval === undefined ? ['value'] : aggregates
  const pieces = rows()
  // Read before the file begins, so that a fault can still be answered.
  const first = await pieces.next()
  return {
    status: 200,
    headers: {
      ...positionHeaders(position),
      'Content-Type': query.format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson',
      'Content-Disposition': `attachment; filename="history.${query.format}"`,
    },
    chunks: file(),
  }

  async function* file(): AsyncGenerator<string | Uint8Array> {
    if (query.format === 'csv') yield `deviceIdentifier,serviceIdentifier,propId,name,time,${columns.join(',')}\n`
    if (!first.done) yield first.value
    yield* pieces
  }

  async function* rows(): AsyncGenerator<Uint8Array> {
    const slices = new ReadSlices(context.world, caller)
    for (const names of services) {
      await slices.next()
      const state = context.system.peek(deviceAddress(caller.tenant, names.device))
      if (!state) continue
      const schema = schemas.get(names.service)
      const known = keys?.filter((key) => propIdOf(key, schema) !== undefined)
      const service = queriedService(state, schema, names, { keys: known, path: 'properties' }, [])
      for await (const piece of rowsOfService(reads, principalKey(caller), { ...asked, ...span }, service)) {
        yield piece
        // The client may have taken long to receive it.
        await slices.next()
      }
    }
  }
}

async function* rowsOfService(
  reads: HistoryRequests,
  group: string,
  asked: Omit<HistoryQuery, 'services'>,
  service: QueriedService,
): AsyncGenerator<Uint8Array> {
  let span: { readonly from: number; readonly to: number } | undefined = asked
  while (span) {
    const query: HistoryQuery = { ...asked, ...span, services: [service] }
    const answer = await reads.ask(group, (history) => history.query(query))
    if (answer === 'unknown') return
    if ('faults' in answer) throw new Problem('invalid', undefined, { details: answer.faults })
    yield* reads.piecesOf(answer)
    span = answer.next
  }
}
