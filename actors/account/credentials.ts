import { timingSafeEqual } from 'node:crypto'
import {
  type AccessCode,
  type AccountCommands,
  type AccountSession,
  type AccountState,
  type Credentials,
  type CredentialsChanged,
  credentialsRecord,
  factorNames,
  factorsRecord,
  noFactors,
  sessionsRecord,
} from '#actors/account/state'
import { directoryAddress } from '#actors/directory/state'
import { type Decisions, recordsWithoutEntry } from '#actors/record-actor'
import { sessionAddress } from '#actors/session/state'
import { Problem } from '#model/problem'
import { answer, type RecordChange, refuse, type Tell, tell } from '#runtime/actor'

const fresh: Credentials = { hash: null, version: 0, code: null, isDisabled: false }

export const credentialDecisions = {
  /** Contract 2: the old code becomes invalid at once; the old password works until the new code is used. */
  invite({ credentials }, { code }) {
    return recordsWithoutEntry([credentialsChange({ ...(credentials ?? fresh), code })])
  },

  open({ credentials }, { passwordHash }) {
    if (credentials) return refuse(new Problem('conflict', 'the account exists'))
    return recordsWithoutEntry([credentialsChange({ ...fresh, hash: passwordHash, version: 1 })])
  },

  /** Contract 2, Sign-up: the error does not reveal why a code is invalid. All sessions end. */
  redeem_code(state, { codeHash, passwordHash }, { now }) {
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
  },

  set_password(state, command) {
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
  },

  /** Does nothing if the credentials have changed meanwhile: the hash may belong to an earlier password. */
  renew_hash({ credentials }, command) {
    if (command.version !== credentials?.version) return answer(undefined)
    return recordsWithoutEntry([credentialsChange({ ...credentials, hash: command.passwordHash })])
  },

  /** Contract 2: the account must be active and its credentials unchanged since the caller read them. */
  begin_session(state, { session, version }, turn) {
    const { tenant, user, credentials, sessions } = state
    if (!credentials || credentials.isDisabled || credentials.hash === null) {
      return refuse(new Problem('unauthorized', 'invalid credentials'))
    }
    if (version !== credentials.version) return refuse(versionConflict())
    if (sessions.some(([id]) => id === session.id)) return refuse(new Problem('conflict', 'the session has begun'))
    const begun: AccountSession = [session.id, turn.now]
    const ended = sessions.slice(0, Math.max(0, sessions.length + 1 - sessionsMax))
    return recordsWithoutEntry([sessionsChange([...sessions.slice(ended.length), begun])], {
      tells: [...endTells(tenant, ended), tell(sessionAddress(tenant, session.id), { type: 'begin', user, session })],
    })
  },

  end_sessions(state, { keep: exceptSession, only }) {
    const { tenant, sessions } = state
    const ended = sessions.filter(([id]) => (only === undefined ? id !== exceptSession : id === only))
    if (only !== undefined && ended.length === 0) return refuse(new Problem('not_found'))
    if (ended.length === 0) return answer(0)
    const left = sessions.filter((session) => !ended.includes(session))
    return recordsWithoutEntry([sessionsChange(left)], { tells: endTells(tenant, ended), answer: ended.length })
  },

  session_over({ sessions }, { session }) {
    const left = sessions.filter(([id]) => id !== session)
    return left.length === sessions.length ? answer(undefined) : recordsWithoutEntry([sessionsChange(left)])
  },

  /** An outstanding code stays invalid after `enable`, because it may have leaked meanwhile. */
  disable(state) {
    const { credentials } = state
    if (!credentials || credentials.isDisabled) return answer(undefined)
    const next = { ...credentials, version: credentials.version + 1, code: null, isDisabled: true }
    const { records, tells } = endSessions(state, undefined)
    return recordsWithoutEntry([credentialsChange(next), ...records], { tells })
  },

  enable({ credentials }) {
    if (!credentials?.isDisabled) return answer(undefined)
    return recordsWithoutEntry([credentialsChange({ ...credentials, isDisabled: false })])
  },

  erase(state) {
    const names = [credentialsRecord, factorsRecord, sessionsRecord]
    return recordsWithoutEntry(
      names.map((name) => ({ name, value: null })),
      { tells: endSessions(state, undefined).tells },
    )
  },
} satisfies Partial<Decisions<AccountState, AccountCommands>>

/**
 * The account's code if it has this hash and has not expired, and the account is not disabled. Read outside a turn,
 * because the password is hashed before the turn.
 */
export function codeOf({ credentials }: AccountState, codeHash: Uint8Array, now: number): AccessCode | undefined {
  return credentials && goodCode(credentials, codeHash, now)
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

/** Maximum number of sessions of an account. Contract 2, Sessions. */
export const sessionsMax = 100

/** The changes and messages that end every session except `exceptSession`; undefined: every session. */
export function endSessions(
  { tenant, sessions }: AccountState,
  exceptSession: string | undefined,
): { readonly records: readonly RecordChange[]; readonly tells: readonly Tell[] } {
  const ended = sessions.filter(([id]) => id !== exceptSession)
  if (ended.length === 0) return { records: [], tells: [] }
  return { records: [sessionsChange(sessions.filter(([id]) => id === exceptSession))], tells: endTells(tenant, ended) }
}

/**
 * Whether the session that requests a change still belongs to the account. `session` undefined: the request is part of
 * a sign-in.
 */
export function mayChangeAccount({ sessions }: AccountState, session: string | undefined): boolean {
  return session === undefined || sessions.some(([id]) => id === session)
}

export function sessionOverProblem(): Problem {
  return new Problem('unauthorized', 'session over')
}

/** The account changed after the caller read it, so the caller must read it again. */
export function versionConflict(): Problem {
  return new Problem('conflict', 'the account was changed meanwhile')
}

function endTells(tenant: string, sessions: readonly AccountSession[]): Tell[] {
  return sessions.map(([id]) => tell(sessionAddress(tenant, id), { type: 'end' }))
}

function sessionsChange(sessions: readonly AccountSession[]): RecordChange {
  return { name: sessionsRecord, value: sessions.length === 0 ? null : sessions }
}
