import type { Authors } from '#access/authors'
import { apiKeyText, hashOf, newSecret, provisioningKeyText } from '#access/secret-text'
import type { KeyRing } from '#access/signing-keys'
import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import { grantsOfRoles } from '#actors/tenant/roles'
import {
  isExpired,
  type KeyKind,
  keysOf,
  type StoredApiKey,
  type StoredKey,
  type StoredProvisioningKey,
} from '#actors/tenant/state'
import * as api from '#api/keys'
import { readJwks } from '#api/sign-in'
import { type Binding, bind } from '#http/call'
import type { Caller } from '#model/caller'
import { formatCrn, idOfCrn } from '#model/crn'
import { randomId } from '#model/identifier'
import { Problem } from '#model/problem'
import type { Action } from '#model/scope'
import { authorOf } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { textReply } from '#routes/replies'
import { checkMayGive, mustCover } from '#routes/roles'
import { bindForTenant, locationOf } from '#routes/target-tenant'

/** The visible fields of both kinds of keys. */
interface ShownKey {
  readonly id: string
  readonly name: string
  readonly createdAt: number
  readonly expiresAt?: number
  readonly resourceIdentifier: string
}

/** The keys of a tenant that have not expired, in the order of their creation. */
function validKeys<Key extends StoredKey>(
  context: RouteContext,
  tenant: string,
  kind: KeyKind,
): readonly (readonly [id: string, key: Key])[] {
  const now = context.world.now()
  const keys = [...keysOf(context.system.wake(tenantAddress(tenant)), kind)] as unknown as [string, Key][]
  return keys
    .filter(([, key]) => !isExpired(key, now))
    .sort(([a, one], [b, other]) => one.createdAt - other.createdAt || (a < b ? -1 : 1))
}

/** Converts a lifetime in seconds to the time of expiry, Unix ms; null: never. */
function expiryIn({ world }: RouteContext, seconds: number | undefined): number | null {
  return seconds === undefined ? null : world.now() + seconds * 1000
}

function shownKey(id: string, { name, createdAt, expiresAt }: StoredKey): ShownKey {
  const resourceIdentifier = formatCrn({ type: 'key', id })
  return { id, name, createdAt, ...(expiresAt !== null && { expiresAt }), resourceIdentifier }
}

/**
 * Routes for API keys. A key acts as a user, so callers may not create or delete a key with more rights than their own.
 * Contract 2.
 */
export function apiKeyRoutes(context: RouteContext, authors: Authors): Binding[] {
  const { system } = context
  const random = (bytes: number) => context.world.random(bytes)
  return [
    bindForTenant(context, api.listApiKeys, (_, tenant) => {
      const keys = validKeys<StoredApiKey>(context, tenant, 'api_key')
      const entries = keys.map(([id, key]) => {
        const { roles, createdBy } = key
        const isSuspended = !authors.isKeyActive(tenant, key)
        return { ...shownKey(id, key), roles, ...(createdBy && { createdBy: createdBy.user }), isSuspended }
      })
      return textReply(context, JSON.stringify(entries))
    }),

    bindForTenant(context, api.createApiKey, async ({ caller, query, body }, tenant) => {
      const { name, roles, expiresIn } = body
      checkMayGive(context, caller, tenant, roles)
      refuseChainOfKeys(context, caller)
      const id = randomId(random)
      const key = apiKeyText(tenant, id, newSecret(random))
      const expiresAt = expiryIn(context, expiresIn)
      const { isNarrow } = authorOf(caller, 'users')
      const createdBy = { tenant: caller.tenant, user: caller.user }
      const add: TenantCommand = {
        type: 'add_api_key',
        id,
        name,
        roles,
        hash: hashOf(key),
        expiresAt,
        createdBy,
        isNarrow,
      }
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
 * Keeps the chain from a key to its creators short: each use of a key checks the rights of its creator, and so on, up
 * to a person. @throws Problem `conflict`
 */
function refuseChainOfKeys(context: RouteContext, { session }: Caller): void {
  const key =
    session?.kind === 'api_key' ? context.system.wake(tenantAddress(session.tenant)).apiKeys.get(session.id) : undefined
  if (idOfCrn(key?.createdBy?.user ?? '', 'key') === undefined) return
  throw new Problem('conflict', 'an API key that was created with an API key cannot create others')
}

/** Routes for provisioning keys. Contract 2. */
export function provisioningKeyRoutes(context: RouteContext): Binding[] {
  const { system } = context
  const random = (bytes: number) => context.world.random(bytes)
  return [
    bindForTenant(context, api.listProvisioningKeys, ({ caller }, tenant) => {
      const keys = reachesAnyDevice(caller, 'read')
        ? validKeys<StoredProvisioningKey>(context, tenant, 'provisioning_key')
        : []
      const entries = keys.map(([id, key]) => {
        const { maxDevices, devices } = key
        return { ...shownKey(id, key), ...(maxDevices !== null && { maxDevices }), devices }
      })
      return textReply(context, JSON.stringify(entries))
    }),

    bindForTenant(context, api.createProvisioningKey, async ({ caller, query, body }, tenant) => {
      mustReachAnyDevice(caller, 'create')
      const { name, expiresIn, maxDevices = null } = body
      const id = randomId(random)
      const key = provisioningKeyText(id, newSecret(random))
      const made = { id, name, hash: hashOf(key), expiresAt: expiryIn(context, expiresIn), maxDevices }
      const add: TenantCommand = { type: 'add_provisioning_key', ...made }
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
 * A provisioning key can act for any device, so callers limited to some devices would exceed their own grants with it.
 * Contract 2.
 */
function mustReachAnyDevice(caller: Caller, action: 'create' | 'delete'): void {
  if (!reachesAnyDevice(caller, action)) throw new Problem('forbidden')
}

function reachesAnyDevice({ scope }: Caller, action: Action): boolean {
  return scope.reaches('device', action).some(({ devices }) => devices === '*')
}

/** Routes for the signing keys of tokens. Contract 2, Tokens. */
export function signingKeyRoutes(keys: KeyRing): Binding[] {
  return [
    bind(api.listSigningKeys, () => ({ status: 200, json: keys.list() })),

    // `Location` is the list: there is no route for a single key.
    bind(api.rotateSigningKey, async () => ({
      status: 201,
      headers: { Location: '/api/v1/iam/signing-keys' },
      json: await keys.rotate(),
    })),
  ]
}

/** Routes for the public keys of tokens; with authentication off there are no tokens. Contract 2, Tokens. */
export function jwksRoutes(keys: KeyRing | undefined): Binding[] {
  return [bind(readJwks, () => ({ status: 200, json: keys?.jwks() ?? { keys: [] } }))]
}
