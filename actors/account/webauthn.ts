import type { AddWebauthn, RemoveWebauthn, UseWebauthn } from '#actors/account/commands'
import { changeFactors, factorsChange, removeFactor, wrongCode } from '#actors/account/factors'
import type { AccountState, StoredCredential } from '#actors/account/state'
import { tooEarly } from '#actors/account/wrong-factors'
import { recordOnly } from '#actors/record-only'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { type Decision, refuse, type Turn } from '#runtime/actor'

/** A user has few devices, and every sign-in reads all credentials (about 1 KB each). */
export const credentialsMax = 10

export function decideAddWebauthn(state: AccountState, command: AddWebauthn): Decision<Entry> {
  const { factors } = state
  const { credential, recovery } = command
  if (factors.webauthn.some(({ id }) => id === credential.id)) {
    return refuse(new Problem('conflict', 'the credential is registered'))
  }
  if (factors.webauthn.length >= credentialsMax) {
    return refuse(new Problem('conflict', `a user has at most ${credentialsMax} credentials`))
  }
  const webauthn = [...factors.webauthn, credential]
  return changeFactors(state, command, { ...factors, webauthn, recovery: recovery ?? factors.recovery })
}

export function decideRemoveWebauthn(state: AccountState, command: RemoveWebauthn): Decision<Entry> {
  const { factors } = state
  const webauthn = factors.webauthn.filter(({ id }) => id !== command.id)
  if (webauthn.length === factors.webauthn.length) return refuse(new Problem('not_found'))
  return removeFactor(state, command, { ...factors, webauthn })
}

/**
 * A counter that does not increase means that the credential was copied.
 * https://www.w3.org/TR/webauthn-3/#sctn-sign-counter
 */
export function decideUseWebauthn(state: AccountState, { id, counter }: UseWebauthn, { now }: Turn): Decision<Entry> {
  const { factors } = state
  const early = tooEarly(factors.wrong, now)
  if (early) return refuse(early)
  const used = factors.webauthn.find((credential) => credential.id === id)
  if (!used || isCopied(used, counter)) return refuse(wrongCode())
  const next = { ...used, counter: Math.max(counter, used.counter), lastUsedAt: now }
  const webauthn = factors.webauthn.map((credential) => (credential === used ? next : credential))
  return recordOnly([factorsChange({ ...factors, webauthn })])
}

function isCopied(stored: StoredCredential, counter: number): boolean {
  return stored.counter !== 0 && counter !== 0 && counter <= stored.counter
}
