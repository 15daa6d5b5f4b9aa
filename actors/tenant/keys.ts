import { type Decisions, recordsWithoutEntry } from '#actors/record-actor'
import { eraseSubscriber } from '#actors/subscriber/state'
import { quotaFault } from '#actors/tenant/authorship'
import type { TenantCommands } from '#actors/tenant/commands'
import {
  isExpired,
  type KeyKind,
  keyRecord,
  keysOf,
  type StoredApiKey,
  type StoredKey,
  type StoredProvisioningKey,
  type TenantState,
} from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { type Decision, refuse, type Tell } from '#runtime/actor'

/** Maximum number of keys of each kind in one tenant: all are in memory and are listed without paging. */
export const keysMax = 1_000

const kinds: readonly KeyKind[] = ['api_key', 'provisioning_key']

export const keyDecisions = {
  add_api_key(state, command, { now }) {
    const { id, name, hash, roles, expiresAt, createdBy, isNarrow } = command
    const creators = [...state.apiKeys.values()].map((key) => key.createdBy?.user)
    const quota = { max: keysMax, what: 'API keys' }
    const full = quotaFault(state, creators, { author: createdBy?.user, isNarrow }, quota)
    if (full && !state.apiKeys.has(id)) return refuse(full)
    const key: StoredApiKey = { name, hash, roles, createdAt: now, expiresAt, ...(createdBy && { createdBy }) }
    return decideAdd(state, 'api_key', id, key)
  },

  add_provisioning_key(state, command, { now }) {
    const { id, name, hash, expiresAt, maxDevices } = command
    const key: StoredProvisioningKey = { name, hash, createdAt: now, expiresAt, maxDevices, devices: 0 }
    return decideAdd(state, 'provisioning_key', id, key)
  },

  delete_key(state, { kind, id }) {
    if (!keysOf(state, kind).has(id)) return refuse(new Problem('not_found'))
    return recordsWithoutEntry([{ name: keyRecord(kind, id), value: null }], {
      tells: subscriptionsEnded(state, [{ kind, id }]),
    })
  },

  /** Ends expired keys and sets the reminder for the next expiry. */
  reminder_due(state, _, { now }) {
    const all = kinds.flatMap((kind) => [...keysOf(state, kind)].map(([id, key]) => ({ kind, id, key })))
    const ended = all.filter(({ key }) => isExpired(key, now))
    return recordsWithoutEntry(
      ended.map(({ kind, id }) => ({ name: keyRecord(kind, id), value: null })),
      {
        reminder: nextExpiry(all.filter((one) => !ended.includes(one)).map(({ key }) => key)),
        tells: subscriptionsEnded(state, ended),
      },
    )
  },
} satisfies Partial<Decisions<TenantState, TenantCommands>>

/** The commands that end the subscriptions of deleted API keys. Contract 5.6. */
function subscriptionsEnded(
  { tenant }: TenantState,
  keys: readonly { readonly kind: KeyKind; readonly id: string }[],
): readonly Tell[] {
  return keys.filter(({ kind }) => kind === 'api_key').map(({ id }) => eraseSubscriber(tenant, id))
}

function decideAdd(
  state: TenantState,
  kind: KeyKind,
  id: string,
  key: StoredApiKey | StoredProvisioningKey,
): Decision<Entry> {
  const keys = keysOf(state, kind)
  if (keys.has(id)) return refuse(new Problem('conflict', 'the id is taken'))
  if (keys.size >= keysMax) return refuse(new Problem('conflict', `a tenant has at most ${keysMax} provisioning keys`))
  const allKeys = [...state.apiKeys.values(), ...state.provisioningKeys.values(), key]
  return recordsWithoutEntry([{ name: keyRecord(kind, id), value: key }], {
    reminder: nextExpiry(allKeys),
    answer: key,
  })
}

function nextExpiry(keys: readonly StoredKey[]): number | null {
  const next = Math.min(...keys.map(({ expiresAt }) => expiresAt ?? Number.POSITIVE_INFINITY))
  return Number.isFinite(next) ? next : null
}
