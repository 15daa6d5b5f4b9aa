import { tenantAddress } from '#actors/tenant/address'
import type { AddApiKey, DeleteKey } from '#actors/tenant/commands'
import type { StoredApiKey } from '#actors/tenant/state'
import * as api from '#api/api-keys'
import { apiKeyText, hashOf, newSecret } from '#iam/secret-text'
import { Problem } from '#model/problem'
import { madeId } from '#model/server-made-id'
import type { RouteContext } from '#routes/context'
import { grantsOfRoles, mayGive, mustCover } from '#routes/held-roles'
import { expiryIn, keysThere, shownKey } from '#routes/listed-keys'
import { lookAtTenant } from '#routes/looking'
import { textReply } from '#routes/streamed'
import { bindForTenant, locationOf } from '#routes/target-tenant'
import type { Binding } from '#server/call'

/** Who answers for API keys: each acts as a user, so nobody may make or end one that may more than he. Contract 2. */
export function apiKeyRoutes(context: RouteContext): Binding[] {
  const { system, world } = context
  return [
    bindForTenant(context, api.listApiKeys, (_, tenant) => {
      const keys = keysThere<StoredApiKey>(context, tenant, 'api_key')
      return textReply(context, JSON.stringify(keys.map(([id, key]) => ({ ...shownKey(id, key), roles: key.roles }))))
    }),

    bindForTenant(context, api.createApiKey, async ({ caller, query, body }, tenant) => {
      const { name, roles, expiresIn } = body
      mayGive(context, caller, tenant, roles)
      const id = madeId((bytes) => world.random(bytes))
      const key = apiKeyText(
        tenant,
        id,
        newSecret((bytes) => world.random(bytes)),
      )
      const expiresAt = expiryIn(context, expiresIn)
      const add: AddApiKey = { type: 'add_api_key', id, name, roles, hash: hashOf(key), expiresAt }
      await system.ask(tenantAddress(tenant), add)
      const headers = { Location: locationOf(`/iam/api-keys/${id}`, query), 'Cache-Control': 'no-store' }
      return { status: 201, headers, json: { id, key } }
    }),

    bindForTenant(context, api.deleteApiKey, async ({ caller, parameters: { id } }, tenant) => {
      const state = lookAtTenant(context, tenant)
      const key = state.apiKeys.get(id)
      if (!key) throw new Problem('not_found')
      mustCover(caller, grantsOfRoles(state, key.roles))
      await system.ask(tenantAddress(tenant), { type: 'delete_key', kind: 'api_key', id } satisfies DeleteKey)
      return { status: 204 }
    }),
  ]
}
