import { hashOf, newSecret, provisioningKeyText } from '#access/secret-text'
import { type AddProvisioningKey, tenantAddress } from '#actors/tenant/commands'
import type { StoredProvisioningKey } from '#actors/tenant/state'
import * as api from '#api/keys'
import type { Binding } from '#http/call'
import type { Caller } from '#model/caller'
import { randomId } from '#model/identifier'
import { Problem } from '#model/problem'
import type { RouteContext } from '#routes/context'
import { expiryIn, shownKey, validKeys } from '#routes/key-list'
import { textReply } from '#routes/streamed-reply'
import { bindForTenant, locationOf } from '#routes/target-tenant'

/** Routes for provisioning keys. Contract 2. */
export function provisioningKeyRoutes(context: RouteContext): Binding[] {
  const { system, world } = context
  return [
    bindForTenant(context, api.listProvisioningKeys, (_, tenant) => {
      const keys = validKeys<StoredProvisioningKey>(context, tenant, 'provisioning_key')
      const entries = keys.map(([id, key]) => {
        const { maxDevices, devices } = key
        return { ...shownKey(id, key), ...(maxDevices !== null && { maxDevices }), devices }
      })
      return textReply(context, JSON.stringify(entries))
    }),

    bindForTenant(context, api.createProvisioningKey, async ({ caller, query, body }, tenant) => {
      mustReachAnyDevice(caller, 'create')
      const { name, expiresIn, maxDevices = null } = body
      const id = randomId((bytes) => world.random(bytes))
      const key = provisioningKeyText(
        id,
        newSecret((bytes) => world.random(bytes)),
      )
      const expiresAt = expiryIn(context, expiresIn)
      const add: AddProvisioningKey = {
        type: 'add_provisioning_key',
        id,
        name,
        hash: hashOf(key),
        expiresAt,
        maxDevices,
      }
      await system.ask(tenantAddress(tenant), add)
      const headers = { Location: locationOf(`/iam/provisioning-keys/${id}`, query), 'Cache-Control': 'no-store' }
      return { status: 201, headers, json: { id, key } }
    }),

    bindForTenant(context, api.deleteProvisioningKey, async ({ caller, parameters: { id } }, tenant) => {
      mustReachAnyDevice(caller, 'delete')
      await system.ask(tenantAddress(tenant), { type: 'delete_key', kind: 'provisioning_key', id })
      return { status: 204 }
    }),
  ]
}

/**
 * Such a key can act for any device, so callers limited to some devices would exceed their own grants with it. Contract
 * 2.
 */
function mustReachAnyDevice({ scope }: Caller, action: 'create' | 'delete'): void {
  if (!scope.reaches('device', action).some(({ devices }) => devices === '*')) throw new Problem('forbidden')
}
