import type { BeginAccountSession, EndSessions, SessionOver } from '#actors/account/commands'
import { type AccountSession, type AccountState, sessionsRecord } from '#actors/account/state'
import { recordsWithoutEntry } from '#actors/record-actor'
import { sessionAddress } from '#actors/session/state'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { answer, type Decision, type RecordChange, refuse, type Tell, type Turn, tell } from '#runtime/actor'

/** Maximum number of sessions of an account. Contract 2, Sessions. */
export const sessionsMax = 100

/** Contract 2: the account must be active and its credentials unchanged since the caller read them. */
export function decideBegin(
  state: AccountState,
  { session, version }: BeginAccountSession,
  turn: Turn,
): Decision<Entry> {
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
}

export function decideEndSessions(state: AccountState, { keep: exceptSession, only }: EndSessions): Decision<Entry> {
  const { tenant, sessions } = state
  const ended = sessions.filter(([id]) => (only === undefined ? id !== exceptSession : id === only))
  if (only !== undefined && ended.length === 0) return refuse(new Problem('not_found'))
  if (ended.length === 0) return answer(0)
  const left = sessions.filter((session) => !ended.includes(session))
  return recordsWithoutEntry([sessionsChange(left)], { tells: endTells(tenant, ended), answer: ended.length })
}

export function decideSessionOver({ sessions }: AccountState, { session }: SessionOver): Decision<Entry> {
  const left = sessions.filter(([id]) => id !== session)
  return left.length === sessions.length ? answer(undefined) : recordsWithoutEntry([sessionsChange(left)])
}

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
