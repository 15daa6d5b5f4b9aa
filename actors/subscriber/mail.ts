import { keep } from '#actors/kept'
import { outboxAddress } from '#actors/outbox/address'
import type { CountMails } from '#actors/outbox/commands'
import type { AdvanceMail, MailFailed, MailOutcome } from '#actors/subscriber/commands'
import { type MailState, mailRecord, type SubscriberState } from '#actors/subscriber/state'
import type { Entry } from '#model/entry'
import type { StoredSubscription } from '#model/subscription'
import { answer, type Decision } from '#runtime/actor'

/** Mails are counted by it, from the first one behind the one before. In ms. Contract 5.7. */
export const mailHourMs = 3_600_000

/** Of who was sent nothing yet. */
export const noMail: MailState = Object.freeze({
  cursors: {},
  hour: { from: 0, count: 0 },
  missed: {},
  retry: null,
  refusals: null,
})

/**
 * A mail left, or requests were passed over: the next is another one, which was not tried yet. What he unsubscribed from
 * meanwhile is only counted; what is stored already, by a write that failed and reached the disk, is not counted twice.
 */
export function decideAdvance(
  { tenant, subscriptions, mail }: SubscriberState,
  { moves, outcome, hour, refusals }: AdvanceMail,
): Decision<Entry> {
  const isStored = moves.length > 0 && moves.every((move) => isMoved(move, subscriptions, mail))
  const tells = outcome && !isStored ? [{ to: outboxAddress(tenant), command: countOf(outcome) }] : []
  // Of somebody who was erased nothing may come back: nobody would take it away again.
  if (subscriptions.length === 0 && mail === noMail) return keep([], { tells })
  const cursors = { ...mail.cursors }
  const missed = { ...mail.missed }
  for (const { subscription, to, missed: left } of moves) {
    const moved = subscriptions.find(({ id }) => id === subscription)
    if (!moved) continue
    // Never back: what he has heard he has heard.
    cursors[moved.id] = Math.max(cursors[moved.id] ?? 0, to)
    if (left === 0) delete missed[moved.function]
    else if (left !== undefined) missed[moved.function] = left
  }
  const value: MailState = { cursors, hour, missed, retry: null, refusals }
  return keep([{ name: mailRecord, value }], { tells })
}

/** A digest of what was too much to be kept, and of nothing else, moves no cursor. */
function isMoved(
  { subscription, to, missed: left }: AdvanceMail['moves'][number],
  subscriptions: readonly StoredSubscription[],
  { cursors, missed }: MailState,
): boolean {
  const moved = subscriptions.find(({ id }) => id === subscription)
  return (cursors[subscription] ?? -1) >= to && (!moved || left === undefined || (missed[moved.function] ?? 0) <= left)
}

/** Of who is subscribed to nothing any more there is no mail to try again. */
export function decideFailed({ subscriptions, mail }: SubscriberState, { retry }: MailFailed): Decision<Entry> {
  if (subscriptions.length === 0) return answer(undefined)
  return keep([{ name: mailRecord, value: { ...mail, retry } satisfies MailState }])
}

/**
 * What is left of it where only these subscriptions are left; null: nothing. The hour that runs and what his address
 * refused stay: nobody gets more mails by subscribing again. `now` in Unix ms.
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
