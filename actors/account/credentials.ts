import { timingSafeEqual } from 'node:crypto'
import type {
  CredentialsChanged,
  Invite,
  OpenAccount,
  RedeemCode,
  RenewHash,
  SetPassword,
} from '#actors/account/commands'
import { endSessions, mayChangeAccount, sessionOverProblem, versionConflict } from '#actors/account/sessions'
import {
  type AccessCode,
  type AccountState,
  type Credentials,
  credentialsRecord,
  factorNames,
  factorsRecord,
  noFactors,
  sessionsRecord,
} from '#actors/account/state'
import { directoryAddress } from '#actors/directory/commands'
import { recordsWithoutEntry } from '#actors/record-actor'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { answer, type Decision, type RecordChange, refuse, type Turn, tell } from '#runtime/actor'

const fresh: Credentials = { hash: null, version: 0, code: null, isDisabled: false }

/** Contract 2: the old code becomes invalid at once; the old password works until the new code is used. */
export function decideInvite({ credentials }: AccountState, { code }: Invite): Decision<Entry> {
  return recordsWithoutEntry([credentialsChange({ ...(credentials ?? fresh), code })])
}

export function decideOpenAccount({ credentials }: AccountState, { passwordHash }: OpenAccount): Decision<Entry> {
  if (credentials) return refuse(new Problem('conflict', 'the account exists'))
  return recordsWithoutEntry([credentialsChange({ ...fresh, hash: passwordHash, version: 1 })])
}

/** Contract 2, Sign-up: the error does not reveal why a code is invalid. All sessions end. */
export function decideRedeem(
  state: AccountState,
  { codeHash, passwordHash }: RedeemCode,
  { now }: Turn,
): Decision<Entry> {
  const { user, credentials } = state
  const code = credentials && goodCode(credentials, codeHash, now)
  if (!credentials || !code) return refuse(new Problem('unauthorized', 'invalid or expired code'))
  const factors = code.resetsFactors ? noFactors : state.factors
  const next = { ...credentials, hash: passwordHash, version: credentials.version + 1, code: null }
  const { records, tells } = endSessions(state, undefined)
  const reset: RecordChange[] = code.resetsFactors ? [{ name: factorsRecord, value: null }] : []
  const activated = tell(directoryAddress, { type: 'activated', user, factors: factorNames(factors) })
  return recordsWithoutEntry([credentialsChange(next), ...reset, ...records], {
    tells: [...tells, activated],
    answer: { version: next.version } satisfies CredentialsChanged,
  })
}

/**
 * The account's code if it has this hash and has not expired, and the account is not disabled. Read outside a turn,
 * because the password is hashed before the turn.
 */
export function codeOf({ credentials }: AccountState, codeHash: Uint8Array, now: number): AccessCode | undefined {
  return credentials && goodCode(credentials, codeHash, now)
}

export function decideSetPassword(state: AccountState, command: SetPassword): Decision<Entry> {
  const { credentials } = state
  if (!credentials || credentials.isDisabled) return refuse(new Problem('not_found'))
  if (!mayChangeAccount(state, command.keep)) return refuse(sessionOverProblem())
  if (command.version !== credentials.version) return refuse(versionConflict())
  const next = { ...credentials, hash: command.passwordHash, version: credentials.version + 1 }
  const { records, tells } = endSessions(state, command.keep)
  return recordsWithoutEntry([credentialsChange(next), ...records], {
    tells,
    answer: { version: next.version } satisfies CredentialsChanged,
  })
}

/** Does nothing if the credentials have changed meanwhile: the hash may belong to an earlier password. */
export function decideRenewHash({ credentials }: AccountState, command: RenewHash): Decision<Entry> {
  if (command.version !== credentials?.version) return answer(undefined)
  return recordsWithoutEntry([credentialsChange({ ...credentials, hash: command.passwordHash })])
}

/** An outstanding code stays invalid after `enable`, because it may have leaked meanwhile. */
export function decideDisable(state: AccountState): Decision<Entry> {
  const { credentials } = state
  if (!credentials || credentials.isDisabled) return answer(undefined)
  const next = { ...credentials, version: credentials.version + 1, code: null, isDisabled: true }
  const { records, tells } = endSessions(state, undefined)
  return recordsWithoutEntry([credentialsChange(next), ...records], { tells })
}

export function decideEnable({ credentials }: AccountState): Decision<Entry> {
  if (!credentials?.isDisabled) return answer(undefined)
  return recordsWithoutEntry([credentialsChange({ ...credentials, isDisabled: false })])
}

export function decideEraseAccount(state: AccountState): Decision<Entry> {
  const names = [credentialsRecord, factorsRecord, sessionsRecord]
  return recordsWithoutEntry(
    names.map((name) => ({ name, value: null })),
    { tells: endSessions(state, undefined).tells },
  )
}

export function credentialsChange(credentials: Credentials): RecordChange {
  return { name: credentialsRecord, value: credentials }
}

function goodCode({ code, isDisabled }: Credentials, hash: Uint8Array, now: number): AccessCode | undefined {
  return code && !isDisabled && now < code.expiresAt && isSameHash(code.hash, hash) ? code : undefined
}

/** Compares two hashes in constant time. */
export function isSameHash(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}
