import { accountAddress } from '#actors/account/commands'
import type { IdentityNotices } from '#actors/notice-bus'
import { recordOnly } from '#actors/record-only'
import { type SessionState, type StoredSession, sessionRecord } from '#actors/session/state'
import type { Entry } from '#model/entry'
import { type Decision, tell } from '#runtime/actor'

/** Ends the session by command of the account, which needs no notice. */
export function endedByAccount({ tenant, id }: SessionState, notices: IdentityNotices): Decision<Entry> {
  return recordOnly([{ name: sessionRecord, value: null }], {
    reminder: null,
    effects: [() => notices.sessionEnded(tenant, id)],
  })
}

/** Ends the session by itself and notifies the account, so that its list is correct. */
export function endedByItself(
  { tenant, id }: SessionState,
  { user }: StoredSession,
  notices: IdentityNotices,
  answer: unknown,
): Decision<Entry> {
  return recordOnly([{ name: sessionRecord, value: null }], {
    reminder: null,
    tells: [tell(accountAddress(tenant, user), { type: 'session_over', session: id })],
    effects: [() => notices.sessionEnded(tenant, id)],
    answer,
  })
}
