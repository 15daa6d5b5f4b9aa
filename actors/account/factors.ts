import {
  credentialsChange,
  endSessions,
  isSameHash,
  mayChangeAccount,
  sessionOverProblem,
  versionConflict,
} from '#actors/account/credentials'
import {
  type AccountCommands,
  type AccountState,
  type CredentialsChanged,
  type Factors,
  factorNames,
  factorsRecord,
  type StoredCredential,
  type WrongFactors,
} from '#actors/account/state'
import { directoryAddress } from '#actors/directory/state'
import { type Decisions, recordsWithoutEntry } from '#actors/record-actor'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { type Decision, type RecordChange, refuse, tell } from '#runtime/actor'

export const factorDecisions = {
  /** Contract 2, Second factor. Replaces the secret and all recovery codes. */
  set_totp(state, command) {
    const { secret, step, recovery } = command
    return changeFactors(state, command, { ...state.factors, totp: { secret, step }, recovery })
  },

  remove_totp(state, command) {
    const { factors } = state
    if (!factors.totp) return refuse(new Problem('not_found'))
    return removeFactor(state, command, { ...factors, totp: null })
  },

  /** Contract 2: a code works once. Codes of earlier steps count as used too. */
  use_totp(state, { step }, { now }) {
    const { factors } = state
    const early = factorDelayProblem(factors.wrong, now)
    if (early) return refuse(early)
    if (!factors.totp || step <= factors.totp.step) return refuse(wrongCode())
    return recordsWithoutEntry([factorsChange({ ...factors, totp: { ...factors.totp, step } })])
  },

  use_recovery(state, { hash }, { now }) {
    const { factors } = state
    const early = factorDelayProblem(factors.wrong, now)
    if (early) return refuse(early)
    const recovery = factors.recovery.filter((code) => !isSameHash(code, hash))
    if (recovery.length === factors.recovery.length) return refuse(wrongCode())
    return recordsWithoutEntry([factorsChange({ ...factors, recovery })])
  },

  add_webauthn(state, command) {
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
  },

  remove_webauthn(state, command) {
    const { factors } = state
    const webauthn = factors.webauthn.filter(({ id }) => id !== command.id)
    if (webauthn.length === factors.webauthn.length) return refuse(new Problem('not_found'))
    return removeFactor(state, command, { ...factors, webauthn })
  },

  /**
   * A counter that does not increase means that the credential was copied. A counter of 0 is not compared: the credential
   * has no counter. https://www.w3.org/TR/webauthn-3/#sctn-sign-counter
   */
  use_webauthn(state, { id, counter }, { now }) {
    const { factors } = state
    const early = factorDelayProblem(factors.wrong, now)
    if (early) return refuse(early)
    const used = factors.webauthn.find((credential) => credential.id === id)
    if (!used || isCopied(used, counter)) return refuse(wrongCode())
    const next = { ...used, counter: Math.max(counter, used.counter), lastUsedAt: now }
    const webauthn = factors.webauthn.map((credential) => (credential === used ? next : credential))
    return recordsWithoutEntry([factorsChange({ ...factors, webauthn })])
  },

  /**
   * A wrong factor counts even if it comes before the delay is over. A correct factor does not reset the count of the
   * day.
   */
  factor_failed({ factors, credentials }, _, { now }) {
    if (!credentials) return refuse(new Problem('not_found'))
    return recordsWithoutEntry([factorsChange({ ...factors, wrong: addWrongFactor(factors.wrong, now) })])
  },
} satisfies Partial<Decisions<AccountState, AccountCommands>>

/**
 * The recovery codes are removed with the last factor. The last factor is not removed while the tenant requires a
 * second factor.
 */
function removeFactor(
  state: AccountState,
  command: { readonly version: number; readonly keep: string | undefined; readonly isRequired: boolean },
  left: Factors,
): Decision<Entry> {
  const isLast = factorNames(left).length === 0
  if (isLast && command.isRequired) return refuse(new Problem('conflict', 'the tenant requires a second factor'))
  return changeFactors(state, command, isLast ? { ...left, recovery: [] } : left)
}

/**
 * Stores the changed factors. All sessions except `exceptSession` end; the directory is notified if the visible list of
 * factors changes.
 */
function changeFactors(
  state: AccountState,
  { version, keep: exceptSession }: { readonly version: number; readonly keep: string | undefined },
  factors: Factors,
): Decision<Entry> {
  const { user, credentials } = state
  if (!credentials || credentials.isDisabled) return refuse(new Problem('not_found'))
  if (!mayChangeAccount(state, exceptSession)) return refuse(sessionOverProblem())
  if (version !== credentials.version) return refuse(versionConflict())
  const next = { ...credentials, version: version + 1 }
  const { records, tells } = endSessions(state, exceptSession)
  const names = factorNames(factors)
  const notice = tell(directoryAddress, { type: 'factors_changed', user, factors: names })
  const isVisible = names.join() !== factorNames(state.factors).join()
  return recordsWithoutEntry([credentialsChange(next), factorsChange(factors), ...records], {
    tells: isVisible ? [...tells, notice] : tells,
    answer: { version: next.version } satisfies CredentialsChanged,
  })
}

function factorsChange(factors: Factors): RecordChange {
  const isNone = factorNames(factors).length === 0 && factors.recovery.length === 0 && factors.wrong === null
  return { name: factorsRecord, value: isNone ? null : factors }
}

function wrongCode(): Problem {
  return new Problem('unauthorized', 'invalid code')
}

/** Maximum number of WebAuthn credentials of a user: every sign-in reads all of them (about 1 KB each). */
export const credentialsMax = 10

function isCopied(stored: StoredCredential, counter: number): boolean {
  return stored.counter !== 0 && counter !== 0 && counter <= stored.counter
}

/**
 * Contract 2: at most 20 wrong factors per account and day, with growing delays. The day begins with the first wrong
 * factor.
 */
export const wrongFactorsMax = 20
const dayMs = 24 * 60 * 60 * 1000
/** The first wrong factors cause no delay: they may be typing errors. */
const wrongWithoutDelay = 2
const delayMsMax = 15 * 60 * 1000

/** Adds one wrong factor. */
export function addWrongFactor(wrong: WrongFactors | null, now: number): WrongFactors {
  if (!wrong || isDayOver(wrong, now)) return { since: now, count: 1, last: now }
  return { since: wrong.since, count: wrong.count + 1, last: now }
}

/**
 * Milliseconds until the next factor is checked; 0 for no delay. The third wrong factor of a day causes a delay of one
 * second, and each further wrong factor doubles the delay, up to 15 minutes. After the last permitted wrong factor, the
 * delay lasts until the end of the day.
 */
export function factorDelayMs(wrong: WrongFactors | null, now: number): number {
  if (!wrong || isDayOver(wrong, now) || wrong.count <= wrongWithoutDelay) return 0
  const dayEndsAt = wrong.since + dayMs
  if (wrong.count >= wrongFactorsMax) return dayEndsAt - now
  const delayMs = Math.min(1_000 * 2 ** (wrong.count - wrongWithoutDelay - 1), delayMsMax)
  return Math.max(0, Math.min(wrong.last + delayMs, dayEndsAt) - now)
}

/** The refusal of a factor while a delay is not over; undefined if a factor may be checked now. */
export function factorDelayProblem(wrong: WrongFactors | null, now: number): Problem | undefined {
  const delayMs = factorDelayMs(wrong, now)
  if (delayMs === 0) return undefined
  const headers = { 'Retry-After': String(Math.ceil(delayMs / 1_000)) }
  return new Problem('too_many_requests', 'too many attempts', { headers })
}

function isDayOver({ since }: WrongFactors, now: number): boolean {
  return now >= since + dayMs
}
