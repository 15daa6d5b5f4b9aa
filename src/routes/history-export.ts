import { deviceAddress } from '#actors/device/device'
import { tenantAddress } from '#actors/tenant/commands'
import type * as api from '#api/history'
import type { HistoryQuery, QueriedService } from '#history/history-query'
import type { HistoryRequests } from '#history/history-requests'
import type { Call, Reply } from '#http/call'
import { principalKey } from '#model/caller'
import { Problem, type ProblemDetail } from '#model/problem'
import { servicesOfDevicesWithin } from '#model/scope'
import { schemasFor } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { positionHeaders } from '#routes/history-answer'
import { historyOf, intervalOf, propIdOf, queriedService, spanOf } from '#routes/history-parameters'
import { ReadSlices } from '#routes/read-slices'

type ExportCall = Call<unknown, api.HistoryExportQuery>

const defaultAggregates = ['min', 'avg', 'max'] as const

/**
 * The rows of all services of the devices, one service after the other. A service is read when the client has taken
 * the previous rows.
 */
export async function exportHistory(context: RouteContext, call: ExportCall): Promise<Reply> {
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
