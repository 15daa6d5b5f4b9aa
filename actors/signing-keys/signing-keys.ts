import type { IdentityNotices } from '#actors/notice-bus'
import { recordOnly, rejectEntry, restoreState } from '#actors/record-only'
import type { AddSigningKey, SigningKeysCommand } from '#actors/signing-keys/commands'
import { type SigningKeysState, type StoredSigningKey, signingKeyOf } from '#actors/signing-keys/state'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { type ActorDefinition, type Decision, type RecordChange, refuse, type Turn } from '#runtime/actor'

/** After this time the key should be replaced. */
export const signsForMs = 90 * 24 * 60 * 60 * 1000
/** Repeated after this time if the key could not be replaced. */
const askAgainMs = 60 * 60 * 1000
/** Each rotation leaves an old key for hours; rotating in a loop would fill the public key list. */
export const rotationEveryMs = 60_000

const prefix = 'key/'

/**
 * Contract 2, Tokens. Kept awake: every token is verified with these keys. The reminder is set for the next key that
 * retires or should be replaced.
 */
export function signingKeysActor(
  notices: IdentityNotices,
): ActorDefinition<SigningKeysState, SigningKeysCommand, Entry> {
  return {
    kind: 'signing_keys',
    persistence: 'write_through',
    formats: { [`${prefix}*`]: { name: 'signing key', version: 1, upgrades: {} } },
    isForgettable: () => false,
    wake: (_, records) => restoreState({ keys: new Map() }, records, put),
    change: (state, change) => put(state, change as RecordChange),
    apply: rejectEntry,
    decide(state, command, turn) {
      return command.type === 'add' ? decideAdd(state, command, turn, notices) : decideDue(state, turn, notices)
    },
  }
}

function put({ keys }: SigningKeysState, { name, value }: RecordChange): void {
  const kid = name.slice(prefix.length)
  if (value === null) keys.delete(kid)
  else keys.set(kid, value as StoredSigningKey)
}

function decideAdd(
  state: SigningKeysState,
  { key, retireOthersAt }: AddSigningKey,
  { now }: Turn,
  notices: IdentityNotices,
): Decision<Entry> {
  const signing = signingKeyOf(state)
  if (signing && now - signing.createdAt < rotationEveryMs) {
    return refuse(new Problem('conflict', 'the last rotation is younger than a minute'))
  }
  if (state.keys.has(key.kid)) return refuse(new Problem('conflict', 'the key exists'))
  const { kid, sealed, fingerprint } = key
  const added: StoredSigningKey = { kid, sealed, fingerprint, createdAt: now, retiresAt: null }
  const retired = signing ? [{ ...signing, retiresAt: retireOthersAt }] : []
  const others = [...state.keys.values()].filter((other) => other !== signing)
  return standing([added, ...retired], [], [...others, ...retired, added], now, notices, added)
}

function decideDue(state: SigningKeysState, { now }: Turn, notices: IdentityNotices): Decision<Entry> {
  const keys = [...state.keys.values()]
  const left = keys.filter(({ retiresAt }) => retiresAt === null || retiresAt > now)
  const gone = keys.filter((key) => !left.includes(key))
  return standing([], gone, left, now, notices)
}

/** Stores the changed keys, sends the notices and sets the next reminder. */
function standing(
  changed: readonly StoredSigningKey[],
  gone: readonly StoredSigningKey[],
  keys: readonly StoredSigningKey[],
  now: number,
  notices: IdentityNotices,
  answer?: StoredSigningKey,
): Decision<Entry> {
  const signing = keys.find(({ retiresAt }) => retiresAt === null)
  const oldAt = signing ? signing.createdAt + signsForMs : Number.POSITIVE_INFINITY
  const isOld = oldAt <= now
  const retirements = keys.flatMap(({ retiresAt }) => retiresAt ?? [])
  const next = Math.min(isOld ? now + askAgainMs : oldAt, ...retirements)
  return recordOnly(
    [
      ...changed.map((key) => ({ name: `${prefix}${key.kid}`, value: key })),
      ...gone.map(({ kid }) => ({ name: `${prefix}${kid}`, value: null })),
    ],
    {
      reminder: Number.isFinite(next) ? next : null,
      effects: [
        ...(changed.length + gone.length > 0 ? [() => notices.signingKeysChanged(keys)] : []),
        ...(isOld ? [() => notices.signingKeyIsOld()] : []),
      ],
      answer,
    },
  )
}
