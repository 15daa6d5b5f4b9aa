import { type CountMails, outboxAddress } from '#actors/outbox/outbox'
import { recordsWithoutEntry } from '#actors/record-actor'
import type { AdvanceMail, MailFailed, MailOutcome } from '#actors/subscriber/commands'
import { type MailState, mailRecord, type SubscriberState } from '#actors/subscriber/state'
import type { Entry } from '#model/entry'
import type { StoredSubscription } from '#model/subscription'
import { answer, type Decision } from '#runtime/actor'

/**
 * The length of the period for which mails are limited, in ms. It begins with the first mail after the previous period.
 * Contract 5.7.
 */
export const mailHourMs = 3_600_000

/** The mail state of a user without mails. */
export const noMail: MailState = Object.freeze({
  cursors: {},
  hour: { from: 0, count: 0 },
  missed: {},
  retry: null,
  refusals: null,
})

/**
 * A mail was sent, or requests were passed over. The next mail begins without failed attempts. Mails of subscriptions
 * that ended meanwhile are only counted. A mail is not counted twice if its cursors are stored already, because a write
 * that failed has reached the disk.
 */
export function decideAdvanceMail(
  { tenant, subscriptions, mail }: SubscriberState,
  { moves, outcome, hour, refusals }: AdvanceMail,
): Decision<Entry> {
  const isStored = moves.length > 0 && moves.every((move) => isMoved(move, subscriptions, mail))
  const tells = outcome && !isStored ? [{ to: outboxAddress(tenant), command: countOf(outcome) }] : []
  // Nothing is stored for an erased user: it would never be removed.
  if (subscriptions.length === 0 && mail === noMail) return recordsWithoutEntry([], { tells })
  const cursors = { ...mail.cursors }
  const missed = { ...mail.missed }
  for (const { subscription, to, missed: left } of moves) {
    const moved = subscriptions.find(({ id }) => id === subscription)
    if (!moved) continue
    // A cursor never moves back.
    cursors[moved.id] = Math.max(cursors[moved.id] ?? 0, to)
    if (left === 0) delete missed[moved.function]
    else if (left !== undefined) missed[moved.function] = left
  }
  const value: MailState = { cursors, hour, missed, retry: null, refusals }
  return recordsWithoutEntry([{ name: mailRecord, value }], { tells })
}

/**
 * Whether the move is stored already. A digest of unstored requests alone moves no cursor, so `missed` is compared too.
 */
function isMoved(
  { subscription, to, missed: left }: AdvanceMail['moves'][number],
  subscriptions: readonly StoredSubscription[],
  { cursors, missed }: MailState,
): boolean {
  const moved = subscriptions.find(({ id }) => id === subscription)
  return (cursors[subscription] ?? -1) >= to && (!moved || left === undefined || (missed[moved.function] ?? 0) <= left)
}

/** A user without subscriptions has no mail to repeat. */
export function decideMailFailed({ subscriptions, mail }: SubscriberState, { retry }: MailFailed): Decision<Entry> {
  if (subscriptions.length === 0) return answer(undefined)
  return recordsWithoutEntry([{ name: mailRecord, value: { ...mail, retry } satisfies MailState }])
}

/**
 * The mail state for the remaining subscriptions; null: nothing remains. The current period and the refusals of the
 * address stay, so that subscribing again does not give more mails. `now` in Unix ms.
 */
export function mailAfter(mail: MailState, left: readonly StoredSubscription[], now: number): MailState | null {
  const { hour, refusals } = mail
  if (left.length === 0) {
    const isOver = hour.count === 0 || now < hour.from || now >= hour.from + mailHourMs
    return isOver && !refusals ? null : { ...noMail, hour, refusals }
  }
  const cursors = Object.fromEntries(left.map(({ id }) => [id, mail.cursors[id] ?? 0]))
  const functions = new Set(left.map((each) => each.function))
  const missed = Object.fromEntries(Object.entries(mail.missed).filter(([fn]) => functions.has(fn)))
  return { ...mail, cursors, missed }
}

function countOf(outcome: MailOutcome): CountMails {
  if ('passed' in outcome) {
    const { passed: reason, count } = outcome
    return { type: 'count', passed: { reason, count } }
  }
  return outcome.sent === 'mail'
    ? { type: 'count', sent: outcome.of }
    : { type: 'count', digests: 1, digested: outcome.of }
}
