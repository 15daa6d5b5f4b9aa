import { accountAddress } from '#actors/account/state'
import type { IdentityNotices } from '#actors/notice-bus'
import { type Decisions, recordActor, recordsWithoutEntry } from '#actors/record-actor'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import {
  type ActorAddress,
  type ActorDefinition,
  answer,
  type CommandOf,
  type Decision,
  type NoFields,
  type RecordChange,
  refuse,
  tell,
} from '#runtime/actor'
import type { Reminded } from '#runtime/system'

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

/** One sign-in of one user. A session that never existed, or has ended, has an actor too. */
export interface SessionState {
  readonly tenant: string
  readonly id: string
  session: StoredSession | undefined
}

/** Times are Unix ms. */
export interface StoredSession {
  /** Bare id. */
  readonly user: string
  readonly scheme: SessionScheme
  /** Thumbprint of the key that its tokens are bound to; null: not bound. */
  readonly jkt: string | null
  /** Number of the current refresh token; the first is 1. 0: the session has none. */
  readonly number: number
  readonly createdAt: number
  /** When the current refresh token was issued. */
  readonly rotatedAt: number
  /** When earlier refresh tokens were issued, newest first, while their access tokens are still accepted. */
  readonly rotatedBefore?: readonly number[]
  /** When the newest token of the session expires, which ends the session and its sockets. */
  readonly endsAt: number
  /** Precise to the minute. */
  readonly lastUsedAt: number
  /** The client's address at the sign-in, or at the last stored use; a refresh does not change it. */
  readonly address: string
  readonly agent: string
}

type SessionScheme = 'basic' | 'dpop'

const sessionRecord = 'session'

/**
 * How long after a refresh a lost answer can be requested again, and requests in flight may use the replaced access
 * token. Contract 2, Refresh.
 */
export const replacedMsMax = 10_000

/**
 * Whether an access token was replaced too long ago. `number`: the number of the refresh token that was issued with it.
 */
export function isReplaced(session: StoredSession, number: number, now: number): boolean {
  const age = session.number - number
  if (age <= 0) return false
  const replacedAt = age === 1 ? session.rotatedAt : session.rotatedBefore?.[age - 2]
  return replacedAt === undefined || now - replacedAt > replacedMsMax
}

/** Whether the session has expired, like a token. RFC 7519 §4.1.4. */
export function isOver(session: StoredSession, now: number): boolean {
  return now >= session.endsAt
}

/** Commands of a session actor. */
interface SessionCommands extends Reminded {
  /** Sent by the account, which holds the list of sessions. */
  begin: {
    readonly user: string
    readonly session: BegunSession
  }
  /**
   * The client sent the refresh token of this number. The caller has verified its signature, and the key that it is bound
   * to. Answered with `Rotation`. Contract 2, Refresh.
   */
  rotate: {
    readonly number: number
    /** When the next token expires, Unix ms. */
    readonly endsAt: number
  }
  /** A request used an access token of the session. Stored at most once a minute. */
  use: { readonly address: string }
  /** Sent by the account. */
  end: NoFields
}

export type SessionCommand = CommandOf<SessionCommands>

/** The data of a successful sign-in. */
export interface BegunSession {
  /** Generated by the server, for this session alone. */
  readonly id: string
  readonly scheme: SessionScheme
  readonly jkt?: string
  readonly hasRefresh: boolean
  /** Unix ms. */
  readonly endsAt: number
  readonly address: string
  readonly agent: string
}

/**
 * - `rotated`: the number of the new token.
 * - `repeated`: the number of the current token again; the answer with this token may have been lost.
 * - `reused`: a used token was presented, so the session ends.
 * - `unknown`: the token does not exist or the session has ended; nothing changed.
 */
export type Rotation =
  | { readonly outcome: 'rotated' | 'repeated'; readonly number: number; readonly endsAt: number; rotatedAt: number }
  | { readonly outcome: 'reused' | 'unknown' }

export function sessionAddress(tenant: string, session: string): ActorAddress<SessionState, SessionCommand> {
  return { kind: 'session', tenant, id: session }
}
