import type { IdentityNotices } from '#actors/notice-bus'
import { recordOnly } from '#actors/record-only'
import type { RotateSession, Rotation } from '#actors/session/commands'
import { endedByItself } from '#actors/session/session-end'
import { isOver, replacedMsMax, type SessionState, type StoredSession, sessionRecord } from '#actors/session/state'
import type { Entry } from '#model/entry'
import { answer, type Decision, type Turn } from '#runtime/actor'

/** A client that refreshes more often in ten seconds does not need all earlier tokens. */
const rotatedBeforeMax = 16

/** Contract 2, Refresh. */
export function decideRotate(
  state: SessionState,
  { number, endsAt }: RotateSession,
  turn: Turn,
  notices: IdentityNotices,
): Decision<Entry> {
  const { session } = state
  // A higher number was issued by a store that was later replaced by an older backup; its holder is not an attacker.
  if (!session || isOver(session, turn.now) || number < 1 || number > session.number)
    return answerWith({ outcome: 'unknown' })
  if (number === session.number) {
    const rotatedBefore = rotationsWithin(session, turn.now)
    const rotated = { ...session, number: number + 1, rotatedAt: turn.now, rotatedBefore, endsAt, lastUsedAt: turn.now }
    return recordOnly([{ name: sessionRecord, value: rotated }], {
      reminder: endsAt,
      answer: { outcome: 'rotated', ...standing(rotated) } satisfies Rotation,
    })
  }
  if (mayRepeat(session, number, turn.now)) return answerWith({ outcome: 'repeated', ...standing(session) })
  return endedByItself(state, session, notices, { outcome: 'reused' } satisfies Rotation)
}

/** Only for tokens bound to a key: an unbound token could be in the hands of an attacker. */
function mayRepeat(session: StoredSession, number: number, now: number): boolean {
  return session.scheme === 'dpop' && number === session.number - 1 && now - session.rotatedAt <= replacedMsMax
}

/** The first number replaces no token. */
function rotationsWithin({ number, rotatedAt, rotatedBefore = [] }: StoredSession, now: number): readonly number[] {
  const rotations = number === 1 ? [] : [rotatedAt, ...rotatedBefore]
  return rotations.filter((at) => now - at <= replacedMsMax).slice(0, rotatedBeforeMax)
}

function standing({ number, endsAt, rotatedAt }: StoredSession) {
  return { number, endsAt, rotatedAt }
}

function answerWith(rotation: Rotation): Decision<Entry> {
  return answer(rotation)
}
