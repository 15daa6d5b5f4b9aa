import { accountAddress } from '#actors/account/state'
import type { IdentityNotices } from '#actors/notice-bus'
import { type Decisions, recordActor, recordsWithoutEntry } from '#actors/record-actor'
import {
  isOver,
  type Rotation,
  replacedMsMax,
  type SessionCommand,
  type SessionCommands,
  type SessionState,
  type StoredSession,
  sessionRecord,
} from '#actors/session/state'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { type ActorDefinition, answer, type Decision, type RecordChange, refuse, tell } from '#runtime/actor'

/** The last use is stored at most once in this time, not with every request. */
export const usedEveryMs = 60_000

/**
 * One sign-in: the key of its tokens, their expiry, and the number of the current refresh token. A separate actor,
 * because it is written at every refresh and ends on its own. Its reminder is its expiry. Contract 2, Sessions.
 */
export function sessionActor(notices: IdentityNotices): ActorDefinition<SessionState, SessionCommand, Entry> {
  return recordActor<SessionState, SessionCommands>({
    kind: 'session',
    records: { [sessionRecord]: 'session' },
    empty: ({ tenant, id }) => ({ tenant, id, session: undefined }),
    put,
    recordStored({ tenant, id }, { value }) {
      if (value === null) notices.sessionEnded(tenant, id)
    },
    decisions,
  })
}

function put(state: SessionState, { value }: RecordChange): void {
  state.session = (value as StoredSession | null) ?? undefined
}

const decisions: Decisions<SessionState, SessionCommands> = {
  begin(state, { user, session }, { now }) {
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
    return recordsWithoutEntry([{ name: sessionRecord, value: stored }], { reminder: endsAt })
  },

  /** Contract 2, Refresh. */
  rotate(state, { number, endsAt }, turn) {
    const { session } = state
    // A higher number was issued by a store that was later replaced by an older backup; its holder is not an attacker.
    if (!session || isOver(session, turn.now) || number < 1 || number > session.number)
      return answer({ outcome: 'unknown' } satisfies Rotation)
    if (number === session.number) {
      const rotatedBefore = rotationsWithin(session, turn.now)
      const rotated = {
        ...session,
        number: number + 1,
        rotatedAt: turn.now,
        rotatedBefore,
        endsAt,
        lastUsedAt: turn.now,
      }
      return recordsWithoutEntry([{ name: sessionRecord, value: rotated }], {
        reminder: endsAt,
        answer: { outcome: 'rotated', ...tokenOf(rotated) } satisfies Rotation,
      })
    }
    if (mayRepeat(session, number, turn.now))
      return answer({ outcome: 'repeated', ...tokenOf(session) } satisfies Rotation)
    return endedByItself(state, session, { outcome: 'reused' } satisfies Rotation)
  },

  use({ session }, { address }, { now }) {
    if (!session || isOver(session, now) || now - session.lastUsedAt < usedEveryMs) return answer(undefined)
    return recordsWithoutEntry([{ name: sessionRecord, value: { ...session, lastUsedAt: now, address } }])
  },

  /** Ends the session if it has expired. If it has not, because a clock was set back, sets the reminder again. */
  reminder_due(state, _, { now }) {
    const { session } = state
    if (!session) return answer(undefined)
    if (isOver(session, now)) return endedByItself(state, session, undefined)
    return recordsWithoutEntry([], { reminder: session.endsAt })
  },
  // The account ended the session, so the account needs no command.
  end: ({ session }) =>
    session ? recordsWithoutEntry([{ name: sessionRecord, value: null }], { reminder: null }) : answer(undefined),
}

/**
 * The maximum number of earlier tokens that are accepted for ten seconds. A client that refreshes more often does not
 * need all of them.
 */
const rotatedBeforeMax = 16

/** Answers are only repeated for tokens that are bound to a key: an attacker could have an unbound token. */
function mayRepeat(session: StoredSession, number: number, now: number): boolean {
  return session.scheme === 'dpop' && number === session.number - 1 && now - session.rotatedAt <= replacedMsMax
}

/**
 * The times of the latest refreshes, newest first. The token with number 1 came from the sign-in, not from a refresh.
 */
function rotationsWithin({ number, rotatedAt, rotatedBefore = [] }: StoredSession, now: number): readonly number[] {
  const rotations = number === 1 ? [] : [rotatedAt, ...rotatedBefore]
  return rotations.filter((at) => now - at <= replacedMsMax).slice(0, rotatedBeforeMax)
}

function tokenOf({ number, endsAt, rotatedAt }: StoredSession) {
  return { number, endsAt, rotatedAt }
}

/** The session ends by itself: the account has to remove it from its list. */
function endedByItself({ tenant, id }: SessionState, { user }: StoredSession, answer: unknown): Decision<Entry> {
  return recordsWithoutEntry([{ name: sessionRecord, value: null }], {
    reminder: null,
    tells: [tell(accountAddress(tenant, user), { type: 'session_over', session: id })],
    answer,
  })
}
