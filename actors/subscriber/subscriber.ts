import type { SubscriberNotices } from '#actors/notice-bus'
import { type OutboxCommand, outboxAddress } from '#actors/outbox/outbox'
import { type Decisions, recordActor, recordsWithoutEntry } from '#actors/record-actor'
import {
  type MailOutcome,
  type MailState,
  mailRecord,
  type SubscriberCommand,
  type SubscriberCommands,
  type SubscriberState,
  subscriptionsRecord,
  topicIndex,
  topicRow,
} from '#actors/subscriber/state'
import type { Entry, Unsubscribed } from '#model/entry'
import { Problem } from '#model/problem'
import { type StoredSubscription, subscriptionsMax } from '#model/subscription'
import {
  type ActorDefinition,
  answer,
  type IndexChange,
  type RecordChange,
  type Recorded,
  record,
  refuse,
  type Turn,
} from '#runtime/actor'

/**
 * A user with subscriptions, and the progress of their mails. One actor for all subscriptions of a user, so that
 * concurrent requests create one subscription, and so that one mail limit covers all functions. §2.6, §3.1, contract
 * 5.6, 5.7.
 *
 * Subscriptions, their rows in the topic index and their entries are in one commit. The progress of mails causes no
 * events.
 */
export function subscriberActor(
  notices: SubscriberNotices,
): ActorDefinition<SubscriberState, SubscriberCommand, Entry> {
  return recordActor<SubscriberState, SubscriberCommands>({
    kind: 'subscriber',
    records: { [subscriptionsRecord]: 'subscriptions', [mailRecord]: 'mail of a subscriber' },
    empty: ({ tenant, id }) => ({ tenant, id, subscriptions: [], mail: noMail }),
    put,
    decisions: decisionsWith(notices),
  })
}

function put(state: SubscriberState, { name, value }: RecordChange): void {
  if (name === subscriptionsRecord) state.subscriptions = (value as readonly StoredSubscription[] | null) ?? []
  else state.mail = (value as MailState | null) ?? noMail
}

function decisionsWith(notices: SubscriberNotices): Decisions<SubscriberState, SubscriberCommands> {
  return {
    /** §3.1. A repeated subscribe request with the same id gets the same answer. */
    subscribe(state, { subscription, from }, { now }) {
      const { tenant, subscriptions, mail } = state
      const known = subscriptions.find(({ id }) => id === subscription.id)
      // Recorded, so that the answer waits for a commit: while the store fails, this state may still be rolled back.
      if (known && isSame(known, subscription)) return record([], { answer: known })
      if (subscriptions.some((other) => isOfSame(other, subscription))) return refuse(new Problem('conflict_empty'))
      if (known) return refuse(new Problem('conflict', 'the id is taken'))
      if (subscriptions.length >= subscriptionsMax) {
        return refuse(new Problem('bad_request_message', `a user has at most ${subscriptionsMax} subscriptions`))
      }
      const cursors = { ...mail.cursors, [subscription.id]: from }
      return record([{ kind: 'subscribed', at: now, user: subscription.createdBy, stored: subscription }], {
        records: [
          { name: subscriptionsRecord, value: [...subscriptions, subscription] },
          { name: mailRecord, value: { ...mail, cursors } },
        ],
        indexes: [rowOf(state, subscription, true)],
        effects: [() => notices.subscribed(tenant, subscription.function)],
        answer: subscription,
      })
    },

    /** §3.1. Setting the same locale causes an event again, except for a repeated request. */
    set_locale({ subscriptions }, { id, locale, isRepeated }, { now }) {
      const before = subscriptions.find((each) => each.id === id)
      if (!before) return refuse(new Problem('not_found_empty'))
      if (isRepeated && before.locale === locale) return record([], { answer: before })
      const stored = { ...before, locale }
      const all = subscriptions.map((each) => (each === before ? stored : each))
      return record([{ kind: 'subscription_updated', at: now, user: stored.createdBy, stored }], {
        records: [{ name: subscriptionsRecord, value: all }],
        answer: stored,
      })
    },

    /** §3.1. */
    unsubscribe(state, { id, isByLink }, turn) {
      const ended = state.subscriptions.filter((each) => each.id === id)
      if (ended.length > 0) return decideEnd(state, ended, turn, notices)
      return isByLink ? answer(undefined) : refuse(new Problem('not_found_empty'))
    },

    /** §3.1. If the command comes twice, the second one changes nothing. */
    topic_ended(state, topic, turn) {
      const ended = state.subscriptions.filter((each) => each.function === topic.function)
      return ended.length > 0 ? decideEnd(state, ended, turn, notices) : answer(undefined)
    },

    /** Contract 5.6. Causes no event, because the only receiver of the event is gone. */
    erase(state) {
      if (state.subscriptions.length === 0 && state.mail === noMail) return answer(undefined)
      return recordsWithoutEntry(
        [
          { name: subscriptionsRecord, value: null },
          { name: mailRecord, value: null },
        ],
        removalOf(state, state.subscriptions, notices),
      )
    },

    /**
     * A mail was sent, or requests were passed over. The next mail begins without failed attempts. Mails of subscriptions
     * that ended meanwhile are only counted. A mail is not counted twice if its cursors are stored already, because a write
     * that failed has reached the disk.
     */
    advance({ tenant, subscriptions, mail }, { moves, outcome, hour, refusals }) {
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
    },

    /** A user without subscriptions has no mail to repeat. */
    failed({ subscriptions, mail }, { retry }) {
      if (subscriptions.length === 0) return answer(undefined)
      return recordsWithoutEntry([{ name: mailRecord, value: { ...mail, retry } satisfies MailState }])
    },
  }
}

function decideEnd(
  state: SubscriberState,
  ended: readonly StoredSubscription[],
  { now }: Turn,
  notices: SubscriberNotices,
): Recorded<Entry> {
  const left = state.subscriptions.filter((each) => !ended.includes(each))
  const entries = ended.map(
    ({ id, createdBy }): Unsubscribed => ({ kind: 'unsubscribed', at: now, user: createdBy, subscription: id }),
  )
  return record(entries, {
    records: [
      { name: subscriptionsRecord, value: left.length === 0 ? null : left },
      { name: mailRecord, value: mailAfter(state.mail, left, now) },
    ],
    ...removalOf(state, ended, notices),
  })
}

/** The index rows to remove, and the notices. */
function removalOf(
  state: SubscriberState,
  ended: readonly StoredSubscription[],
  notices: SubscriberNotices,
): Pick<Recorded<Entry>, 'indexes' | 'effects'> {
  return {
    indexes: ended.map((each) => rowOf(state, each, false)),
    effects: ended.map(
      ({ function: fn }) =>
        () =>
          notices.unsubscribed(state.tenant, fn, state.id),
    ),
  }
}

function rowOf({ id }: SubscriberState, stored: StoredSubscription, isPresent: boolean): IndexChange {
  return { index: topicIndex, entry: topicRow(stored.function, id, stored.id), isPresent }
}

/** The key of a subscription: a user has at most one subscription for each key. §2.6 */
function isOfSame(one: StoredSubscription, other: StoredSubscription): boolean {
  return one.function === other.function && one.type === other.type
}

/** The creation time and origin may differ between repetitions. */
function isSame(one: StoredSubscription, other: StoredSubscription): boolean {
  return isOfSame(one, other) && one.locale === other.locale && one.createdBy === other.createdBy
}

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
 * Whether the move is stored already. A digest of unstored requests alone moves no cursor, so `missed` is compared too.
 */
function isMoved(
  { subscription, to, missed: left }: SubscriberCommands['advance']['moves'][number],
  subscriptions: readonly StoredSubscription[],
  { cursors, missed }: MailState,
): boolean {
  const moved = subscriptions.find(({ id }) => id === subscription)
  return (cursors[subscription] ?? -1) >= to && (!moved || left === undefined || (missed[moved.function] ?? 0) <= left)
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

function countOf(outcome: MailOutcome): OutboxCommand {
  if ('passed' in outcome) {
    const { passed: reason, count } = outcome
    return { type: 'count', passed: { reason, count } }
  }
  return outcome.sent === 'mail'
    ? { type: 'count', sent: outcome.of }
    : { type: 'count', digests: 1, digested: outcome.of }
}
