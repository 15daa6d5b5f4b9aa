import type { IdentityNotices } from '#actors/notice-bus'
import { recordOnly, rejectEntry, restoreState } from '#actors/record-only'
import type { BeginSession, SessionCommand, UseSession } from '#actors/session/commands'
import { decideRotate } from '#actors/session/rotation'
import { endedByAccount, endedByItself } from '#actors/session/session-end'
import { isOver, type SessionState, type StoredSession, sessionRecord } from '#actors/session/state'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { type ActorDefinition, answer, type Decision, type RecordChange, refuse, type Turn } from '#runtime/actor'

/** The last use is stored at most once in this time, not with every request. */
export const usedEveryMs = 60_000

/**
 * One sign-in: the key of its tokens, their expiry, and the number of the current refresh token. A separate actor,
 * because it is written at every refresh and ends on its own. Its reminder is its expiry. Contract 2, Sessions.
 */
export function sessionActor(notices: IdentityNotices): ActorDefinition<SessionState, SessionCommand, Entry> {
  return {
    kind: 'session',
    persistence: 'write_through',
    formats: { [sessionRecord]: { name: 'session', version: 1, upgrades: {} } },
    fixedRecords: [sessionRecord],
    wake: ({ tenant, id }, records) => restoreState({ tenant, id, session: undefined }, records, put),
    change: (state, change) => put(state, change as RecordChange),
    apply: rejectEntry,
    decide(state, command, turn) {
      switch (command.type) {
        case 'begin':
          return decideBegin(state, command, turn)
        case 'rotate':
          return decideRotate(state, command, turn, notices)
        case 'use':
          return decideUse(state, command, turn)
        case 'end':
          return state.session ? endedByAccount(state, notices) : answer(undefined)
        case 'reminder_due':
          return decideDue(state, turn, notices)
      }
    },
  }
}

function put(state: SessionState, { value }: RecordChange): void {
  state.session = (value as StoredSession | null) ?? undefined
}

function decideBegin(state: SessionState, { user, session }: BeginSession, { now }: Turn): Decision<Entry> {
  if (state.session) return refuse(new Problem('conflict', 'the session has begun'))
  const { scheme, jkt, hasRefresh, endsAt, address, agent } = session
  const stored: StoredSession = {
    user,
    scheme,
    jkt: jkt ?? null,
    number: hasRefresh ? 1 : 0,
    createdAt: now,
    rotatedAt: now,
    endsAt,
    lastUsedAt: now,
    address,
    agent,
  }
  return recordOnly([{ name: sessionRecord, value: stored }], { reminder: endsAt })
}

function decideUse({ session }: SessionState, { address }: UseSession, { now }: Turn): Decision<Entry> {
  if (!session || isOver(session, now) || now - session.lastUsedAt < usedEveryMs) return answer(undefined)
  return recordOnly([{ name: sessionRecord, value: { ...session, lastUsedAt: now, address } }])
}

/** The session has expired. If a clock was set back since, it has not, and the reminder is set again. */
function decideDue(state: SessionState, { now }: Turn, notices: IdentityNotices): Decision<Entry> {
  const { session } = state
  if (!session) return answer(undefined)
  if (isOver(session, now)) return endedByItself(state, session, notices, undefined)
  return recordOnly([], { reminder: session.endsAt })
}
