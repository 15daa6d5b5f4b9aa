import type { CredentialsChanged, RemoveTotp, SetTotp, UseRecovery, UseTotp } from '#actors/account/commands'
import { credentialsChange } from '#actors/account/credentials'
import { isSameHash } from '#actors/account/hash-comparison'
import { endSessions, mayChangeAccount, sessionOver, versionConflict } from '#actors/account/sessions'
import { type AccountState, type Factors, factorNames, factorsRecord } from '#actors/account/state'
import { tooEarly, wrongAgain } from '#actors/account/wrong-factors'
import { directoryAddress } from '#actors/directory/commands'
import { recordOnly } from '#actors/record-only'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { type Decision, type RecordChange, refuse, type Turn, tell } from '#runtime/actor'

/** Contract 2, Second factor. Replaces an existing one. */
export function decideSetTotp(state: AccountState, command: SetTotp): Decision<Entry> {
  const { secret, step, recovery } = command
  return changeFactors(state, command, { ...state.factors, totp: { secret, step }, recovery })
}

export function decideRemoveTotp(state: AccountState, command: RemoveTotp): Decision<Entry> {
  const { factors } = state
  if (!factors.totp) return refuse(new Problem('not_found'))
  return removeFactor(state, command, { ...factors, totp: null })
}

/** Contract 2: a code works once. Codes of earlier steps count as used too. */
export function decideUseTotp(state: AccountState, { step }: UseTotp, { now }: Turn): Decision<Entry> {
  const { factors } = state
  const early = tooEarly(factors.wrong, now)
  if (early) return refuse(early)
  if (!factors.totp || step <= factors.totp.step) return refuse(wrongCode())
  return recordOnly([factorsChange({ ...factors, totp: { ...factors.totp, step } })])
}

export function decideUseRecovery(state: AccountState, { hash }: UseRecovery, { now }: Turn): Decision<Entry> {
  const { factors } = state
  const early = tooEarly(factors.wrong, now)
  if (early) return refuse(early)
  const recovery = factors.recovery.filter((code) => !isSameHash(code, hash))
  if (recovery.length === factors.recovery.length) return refuse(wrongCode())
  return recordOnly([factorsChange({ ...factors, recovery })])
}

/**
 * A wrong factor counts even if it came before the delay was over. A correct one does not reset the counter of the day.
 */
export function decideFailed({ factors, credentials }: AccountState, { now }: Turn): Decision<Entry> {
  if (!credentials) return refuse(new Problem('not_found'))
  return recordOnly([factorsChange({ ...factors, wrong: wrongAgain(factors.wrong, now) })])
}

/** The recovery codes are removed with the last factor. The last factor stays while the tenant requires one. */
export function removeFactor(
  state: AccountState,
  command: { readonly version: number; readonly keep: string | undefined; readonly isRequired: boolean },
  left: Factors,
): Decision<Entry> {
  const isLast = factorNames(left).length === 0
  if (isLast && command.isRequired) return refuse(new Problem('conflict', 'the tenant requires a second factor'))
  return changeFactors(state, command, isLast ? { ...left, recovery: [] } : left)
}

/**
 * Turns a factor on or off. All sessions except one end; the directory is notified if the visible list of factors
 * changes.
 */
export function changeFactors(
  state: AccountState,
  { version, keep: kept }: { readonly version: number; readonly keep: string | undefined },
  factors: Factors,
): Decision<Entry> {
  const { user, credentials } = state
  if (!credentials || credentials.isDisabled) return refuse(new Problem('not_found'))
  if (!mayChangeAccount(state, kept)) return refuse(sessionOver())
  if (version !== credentials.version) return refuse(versionConflict())
  const next = { ...credentials, version: version + 1 }
  const { records, tells } = endSessions(state, kept)
  const names = factorNames(factors)
  const notice = tell(directoryAddress, { type: 'factors_changed', user, factors: names })
  const isVisible = names.join() !== factorNames(state.factors).join()
  return recordOnly([credentialsChange(next), factorsChange(factors), ...records], {
    tells: isVisible ? [...tells, notice] : tells,
    answer: { version: next.version } satisfies CredentialsChanged,
  })
}

export function factorsChange(factors: Factors): RecordChange {
  const isNone = factorNames(factors).length === 0 && factors.recovery.length === 0 && factors.wrong === null
  return { name: factorsRecord, value: isNone ? null : factors }
}

export function wrongCode(): Problem {
  return new Problem('unauthorized', 'invalid code')
}
