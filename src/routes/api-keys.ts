import type { Identity } from '#access/identity'
import { apiKeyText, hashOf, newSecret } from '#access/secret-text'
import { type AddApiKey, tenantAddress } from '#actors/tenant/commands'
import { grantsOfRoles } from '#actors/tenant/roles'
import type { StoredApiKey } from '#actors/tenant/state'
import * as api from '#api/keys'
import type { Binding } from '#http/call'
import type { Caller } from '#model/caller'
import { idOfCrn } from '#model/crn'
import { randomId } from '#model/identifier'
import { Problem } from '#model/problem'
import { authorOf } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { expiryIn, shownKey, validKeys } from '#routes/key-list'
import { mayGive, mustCover } from '#routes/roles'
import { textReply } from '#routes/streamed-reply'
import { bindForTenant, locationOf } from '#routes/target-tenant'

/**
 * Routes for API keys. A key acts as a user, so callers may not create or delete a key with more rights than their own.
 * Contract 2.
 */
export function apiKeyRoutes(context: RouteContext, { isGiven }: Pick<Identity, 'isGiven'>): Binding[] {
  const { system, world } = context
  return [
    bindForTenant(context, api.listApiKeys, (_, tenant) => {
      const keys = validKeys<StoredApiKey>(context, tenant, 'api_key')
      const entries = keys.map(([id, key]) => {
        const { roles, createdBy } = key
        const isSuspended = !isGiven(tenant, key)
        return { ...shownKey(id, key), roles, ...(createdBy && { createdBy: createdBy.user }), isSuspended }
      })
      return textReply(context, JSON.stringify(entries))
    }),

    bindForTenant(context, api.createApiKey, async ({ caller, query, body }, tenant) => {
      const { name, roles, expiresIn } = body
      mayGive(context, caller, tenant, roles)
      refuseChainOfKeys(context, caller)
      const id = randomId((bytes) => world.random(bytes))
      const key = apiKeyText(
        tenant,
        id,
        newSecret((bytes) => world.random(bytes)),
      )
      const expiresAt = expiryIn(context, expiresIn)
      const { isNarrow } = authorOf(caller, 'users')
      const createdBy = { tenant: caller.tenant, user: caller.user }
      const add: AddApiKey = { type: 'add_api_key', id, name, roles, hash: hashOf(key), expiresAt, createdBy, isNarrow }
      await system.ask(tenantAddress(tenant), add)
      const headers = { Location: locationOf(`/iam/api-keys/${id}`, query), 'Cache-Control': 'no-store' }
      return { status: 201, headers, json: { id, key } }
    }),

    bindForTenant(context, api.deleteApiKey, async ({ caller, parameters: { id } }, tenant) => {
      const state = context.system.wake(tenantAddress(tenant))
      const key = state.apiKeys.get(id)
      if (!key) throw new Problem('not_found')
      mustCover(caller, grantsOfRoles(state, key.roles))
      await system.ask(tenantAddress(tenant), { type: 'delete_key', kind: 'api_key', id })
      return { status: 204 }
    }),
  ]
}

/**
 * Each use of a key checks its creator's rights, and so on up to a person, so this chain must be short. @throws Problem
 * `conflict`
 */
function refuseChainOfKeys(context: RouteContext, { session }: Caller): void {
  const key =
    session?.kind === 'api_key' ? context.system.wake(tenantAddress(session.tenant)).apiKeys.get(session.id) : undefined
  if (idOfCrn(key?.createdBy?.user ?? '', 'key') === undefined) return
  throw new Problem('conflict', 'an API key that was created with an API key cannot create others')
}
