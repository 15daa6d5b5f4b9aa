import { desiredOf } from '#actors/device/desired'
import { serviceOf } from '#actors/device/state'
import { tenantAddress } from '#actors/tenant/commands'
import * as api from '#api/desired'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import { desiredValuesOf } from '#model/desired'
import { Problem } from '#model/problem'
import { reachesService, servicesWithin } from '#model/scope'
import { withoutNames } from '#model/service-schema'
import type { RouteContext } from '#routes/context'
import { existingDevice } from '#routes/devices'
import { textReply } from '#routes/list-reply'

interface ServicePath {
  readonly deviceIdentifier: string
  readonly serviceIdentifier: string
}

type Values = Readonly<Record<string, unknown>>

/** Routes for desired values. Contract 12. */
export function desiredRoutes(context: RouteContext): Binding[] {
  const read = (call: Call<ServicePath>) => readDesired(context, call)
  const put = (call: Call<ServicePath, unknown, Values>) => setDesired(context, call, call.body, true)
  const patch = (call: Call<ServicePath, unknown, Values>) => setDesired(context, call, call.body, false)
  const remove = async (call: Call<ServicePath>): Promise<Reply> => {
    await setDesired(context, call, {}, true)
    return { status: 204 }
  }
  return [
    bind(api.readDeviceDesired, read),
    bind(api.readServiceDesired, read),
    bind(api.putDeviceDesired, put),
    bind(api.putServiceDesired, put),
    bind(api.patchDeviceDesired, patch),
    bind(api.patchServiceDesired, patch),
    bind(api.deleteDeviceDesired, remove),
    bind(api.deleteServiceDesired, remove),
  ]
}

async function readDesired(context: RouteContext, { caller, parameters }: Call<ServicePath>): Promise<Reply> {
  const { deviceIdentifier, serviceIdentifier } = parameters
  const state = existingDevice(context, caller.tenant, deviceIdentifier)
  if (!serviceOf(state, serviceIdentifier)) throw new Problem('not_found')
  return textReply(context, JSON.stringify(desiredValuesOf(desiredOf(state, serviceIdentifier))))
}

/** The id is derived from the seed of the request, so that a repeated request sends no second WRITE. */
async function setDesired(
  context: RouteContext,
  { caller, parameters, bodyBytes, seed }: Call<ServicePath>,
  values: Values,
  isWhole: boolean,
): Promise<Reply> {
  const { deviceIdentifier: device, serviceIdentifier: service } = parameters
  const { tenant, scope } = caller
  const known = context.system.wake(tenantAddress(tenant)).schemas.get(service)
  const schema = known && !servicesWithin(scope, 'schemas', 'read')(service) ? withoutNames(known) : known
  context.streamShare.take(caller, bodyBytes.byteLength)
  const id = Buffer.from(seed).toString('base64url')
  const command = { type: 'set_desired', service, values, isWhole, schema, id } as const
  const items = await context.links.writes.desired.set(tenant, device, command, bodyBytes.byteLength)
  const mayRead = reachesService(scope, 'service', 'read', device, service)
  return { status: 200, json: mayRead ? desiredValuesOf(items) : {} }
}
