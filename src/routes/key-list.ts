import { tenantAddress } from '#actors/tenant/commands'
import { isExpired, type KeyKind, keysOf, type StoredKey } from '#actors/tenant/state'
import { formatCrn } from '#model/crn'
import type { RouteContext } from '#routes/context'

/** The visible fields of both kinds of keys. */
export interface ShownKey {
  readonly id: string
  readonly name: string
  readonly createdAt: number
  readonly expiresAt?: number
  readonly resourceIdentifier: string
}

/** The valid keys of a tenant, in the order of their creation. */
export function validKeys<Key extends StoredKey>(
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

/** Converts a lifetime in seconds to Unix ms; null: never. */
export function expiryIn({ world }: RouteContext, seconds: number | undefined): number | null {
  return seconds === undefined ? null : world.now() + seconds * 1000
}

export function shownKey(id: string, { name, createdAt, expiresAt }: StoredKey): ShownKey {
  const resourceIdentifier = formatCrn({ type: 'key', id })
  return { id, name, createdAt, ...(expiresAt !== null && { expiresAt }), resourceIdentifier }
}
