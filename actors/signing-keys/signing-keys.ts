import type { IdentityNotices } from '#actors/notice-bus'
import { type Decisions, putIn, recordActor, recordsWithoutEntry } from '#actors/record-actor'
import {
  type SigningKeysCommand,
  type SigningKeysCommands,
  type SigningKeysState,
  type StoredSigningKey,
  signingKeyOf,
} from '#actors/signing-keys/state'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { type ActorDefinition, type Decision, refuse } from '#runtime/actor'

/** After this time the key should be replaced. */
export const signsForMs = 90 * 24 * 60 * 60 * 1000
/** The notice about an old key is repeated after this time. */
const askAgainMs = 60 * 60 * 1000
/**
 * The minimum time between two rotations: each leaves an old key for hours, and rotating in a loop would fill the
 * public key list.
 */
export const rotationEveryMs = 60_000

const prefix = 'key/'

/**
 * Contract 2, Tokens. Kept awake: every token is verified with these keys. The reminder is set for the next key that
 * retires or should be replaced.
 */
export function signingKeysActor(
  notices: IdentityNotices,
): ActorDefinition<SigningKeysState, SigningKeysCommand, Entry> {
  return recordActor<SigningKeysState, SigningKeysCommands>({
    kind: 'signing_keys',
    records: { [`${prefix}*`]: 'signing key' },
    isForgettable: () => false,
    empty: () => ({ keys: new Map() }),
    put: ({ keys }, { name, value }) => putIn(keys, name.slice(prefix.length), value),
    recordStored: (_, { name, value }) =>
      notices.signingKeyChanged(name.slice(prefix.length), (value ?? undefined) as StoredSigningKey | undefined),
    decisions: decisionsWith(notices),
  })
}

function decisionsWith(notices: IdentityNotices): Decisions<SigningKeysState, SigningKeysCommands> {
  return {
    add(state, { key, retireOthersAt }, { now }) {
      const signing = signingKeyOf(state)
      if (signing && now - signing.createdAt < rotationEveryMs) {
        return refuse(new Problem('conflict', 'the last rotation is younger than a minute'))
      }
      if (state.keys.has(key.kid)) return refuse(new Problem('conflict', 'the key exists'))
      const { kid, sealed, fingerprint } = key
      const added: StoredSigningKey = { kid, sealed, fingerprint, createdAt: now, retiresAt: null }
      const retired = signing ? [{ ...signing, retiresAt: retireOthersAt }] : []
      const others = [...state.keys.values()].filter((other) => other !== signing)
      return decisionFor([added, ...retired], [], [...others, ...retired, added], now, notices, added)
    },

    reminder_due(state, _, { now }) {
      const keys = [...state.keys.values()]
      const left = keys.filter(({ retiresAt }) => retiresAt === null || retiresAt > now)
      const gone = keys.filter((key) => !left.includes(key))
      return decisionFor([], gone, left, now, notices)
    },
  }
}

/** Stores the changed keys and sets the next reminder. */
function decisionFor(
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
  return recordsWithoutEntry(
    [
      ...changed.map((key) => ({ name: `${prefix}${key.kid}`, value: key })),
      ...gone.map(({ kid }) => ({ name: `${prefix}${kid}`, value: null })),
    ],
    {
      reminder: Number.isFinite(next) ? next : null,
      ...(isOld && { effects: [() => notices.signingKeyIsOld()] }),
      answer,
    },
  )
}
