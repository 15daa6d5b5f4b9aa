import { actionRecord } from '#actors/action/action'
import { actionAddress } from '#actors/action/address'
import { tenantAddress } from '#actors/tenant/address'
import type { TenantState } from '#actors/tenant/state'
import * as api from '#api/actions'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import type { ActionBody, StoredAction } from '#model/action'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'
import { readKey } from '#model/property-write'
import { reachesEvery } from '#model/scope'
import { seeded } from '#model/seeded'
import { madeId } from '#model/server-made-id'
import { propIdOfName } from '#model/service-schema'
import { shownAction } from '#routes/action-devices'
import type { RouteContext } from '#routes/context'
import { boundWithin, schemasFor } from '#routes/sight'

/** Who asks many devices to change, and hears what became of it. Contract 3.6. */
export function actionRoutes(context: RouteContext): Binding[] {
  return [
    bind(api.createAction, (call) => create(context, call)),
    bind(api.readAction, (call) =>
      shownAction(context, call, call.parameters.actionId, actionThere(context, call, call.parameters.actionId)),
    ),
  ]
}

async function create(context: RouteContext, call: Call<unknown, unknown, ActionBody>): Promise<Reply> {
  const { caller, body, seed, isRepeated } = call
  const { tenant, user: author } = caller
  const id = madeId(seeded(seed))
  // Asked again because nobody heard the answer: it goes on, whatever became of the groups it was for.
  if (!isRepeated || actionOf(context, tenant, id)?.createdBy !== author) {
    const { serviceIdentifier, updates } = body
    const devices = devicesMeant(caller, context.system.wake(tenantAddress(tenant)), body)
    await context.actions.begin({ tenant, id, author, serviceIdentifier, updates, devices })
  }
  return { status: 202, headers: { Location: `/api/v1/devices/actions/${id}` }, json: { id } }
}

/** As named and as grouped now. @throws Problem `not_found`, `property_unknown` */
function devicesMeant(caller: Caller, tenant: TenantState, body: ActionBody): readonly (readonly string[])[] {
  const { groups } = tenant
  const { serviceIdentifier, devices = [] } = body
  const members = (body.groups ?? []).map((id) => {
    const group = groups.get(id)
    if (!group || !mayName(caller, group.devices, serviceIdentifier)) throw new Problem('not_found')
    return group.devices
  })
  const schema = schemasFor(caller, tenant).get(serviceIdentifier)
  for (const text of Object.keys(body.updates)) {
    const key = readKey(text)
    if ('name' in key && (!schema || propIdOfName(schema, key.name) === undefined)) {
      throw new Problem('property_unknown', `there is no property ${text.slice(0, keyCharactersMax)}`)
    }
  }
  return [devices, ...members]
}

/** A key is shown back up to here: as long as a name can be. */
const keyCharactersMax = 256

/** A group that he sees, or that has nobody but devices he may ask one by one. */
function mayName({ scope }: Caller, devices: readonly string[], service: string): boolean {
  return boundWithin(scope, 'functions', 'read', devices) || reachesEvery(scope, 'service', 'update', devices, service)
}

/** @throws Problem `not_found` */
function actionThere(context: RouteContext, { caller }: Call, id: string): StoredAction {
  const action = actionOf(context, caller.tenant, id)
  if (!action) throw new Problem('not_found')
  return action
}

function actionOf({ system }: RouteContext, tenant: string, id: string): StoredAction | undefined {
  return system.recordOf(actionAddress(tenant, id), actionRecord) as StoredAction | undefined
}
