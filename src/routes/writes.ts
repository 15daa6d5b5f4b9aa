import { tenantAddress } from '#actors/tenant/commands'
import * as api from '#api/writes'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import { servicesWithin } from '#model/scope'
import { withoutNames } from '#model/service-schema'
import type { RouteContext } from '#routes/context'

interface WritePath {
  readonly deviceIdentifier: string
  readonly serviceIdentifier: string
}

interface WriteQuery {
  readonly wait?: boolean | undefined
}

/** Routes for write requests to devices. */
export function writeRoutes(context: RouteContext): Binding[] {
  return [
    bind(api.writeDeviceProperties, (call) => write(context, call)),
    bind(api.writeServiceProperties, (call) => write(context, call)),
  ]
}

/** The id is derived from the seed of the request, so that a repeated request addresses the same write. Contract 7. */
async function write(
  context: RouteContext,
  call: Call<WritePath, WriteQuery, Readonly<Record<string, unknown>>>,
): Promise<Reply> {
  const { deviceIdentifier: device, serviceIdentifier: service } = call.parameters
  const { tenant, user, session, scope } = call.caller
  const schema = context.system.wake(tenantAddress(tenant)).schemas.get(service)
  const isWaiting = call.query.wait ?? true
  const outcome = await context.links.writes.ask({
    tenant,
    ...(session && { user }),
    device,
    service,
    values: call.body,
    schema: schema && !servicesWithin(scope, 'schemas', 'read')(service) ? withoutNames(schema) : schema,
    id: `w:${Buffer.from(call.seed).toString('base64url')}`,
    isWaiting,
    isRepeated: call.isRepeated,
  })
  // Some devices do not answer writes. Contract 10.
  const isAnswered = isWaiting && outcome.updates.every(({ status }) => status !== 'SENT')
  return { status: isAnswered ? 200 : 202, json: outcome }
}
