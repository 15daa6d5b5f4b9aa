import type { SessionScheme } from '#actors/session/state'
import type { ReminderDue } from '#runtime/system'

/** What a session actor can be asked or told. */
export type SessionCommand = BeginSession | RotateSession | UseSession | EndSession | ReminderDue

/** A sign-in that was found good. Plain data. */
export interface BegunSession {
  /** Made by the server, for this session alone. */
  readonly id: string
  readonly scheme: SessionScheme
  readonly jkt?: string
  readonly hasRefresh: boolean
  /** Unix ms. */
  readonly endsAt: number
  readonly address: string
  readonly agent: string
}

/** Told by the account, which holds the list. */
export interface BeginSession {
  readonly type: 'begin'
  readonly user: string
  readonly session: BegunSession
}

/**
 * The refresh token of this number was shown; that it is ours, and that whoever showed it has the key it is bound to, was
 * looked at before. Answered with `Rotation`. Contract 2, Refresh.
 */
export interface RotateSession {
  readonly type: 'rotate'
  readonly number: number
  /** When the next one ends, Unix ms. */
  readonly endsAt: number
}

/**
 * - `rotated`: the number of the next token. - `repeated`: that of the one given before: its answer may have been lost.
 * - `reused`: somebody showed a token that was used; the session is over. - `unknown`: no such token was given, or the
 *   session is over; nothing changed.
 */
export type Rotation =
  | { readonly outcome: 'rotated' | 'repeated'; readonly number: number; readonly endsAt: number; rotatedAt: number }
  | { readonly outcome: 'reused' | 'unknown' }

/** One of its tokens came with a request. Stored once a minute at most. */
export interface UseSession {
  readonly type: 'use'
  readonly address: string
}

/** Told by the account. */
interface EndSession {
  readonly type: 'end'
}
