import type { SubscriberNotices } from '#actors/notice-bus'
import { recordActor } from '#actors/record-actor'
import type { SubscriberCommand } from '#actors/subscriber/commands'
import { decideAdvanceMail, decideMailFailed, noMail } from '#actors/subscriber/mail'
import { type MailState, mailRecord, type SubscriberState, subscriptionsRecord } from '#actors/subscriber/state'
import {
  decideEraseSubscriber,
  decideSetLocale,
  decideSubscribe,
  decideTopicEnded,
  decideUnsubscribe,
} from '#actors/subscriber/subscriptions'
import type { Entry } from '#model/entry'
import type { StoredSubscription } from '#model/subscription'
import type { ActorDefinition, RecordChange } from '#runtime/actor'

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
  return recordActor({
    kind: 'subscriber',
    records: { [subscriptionsRecord]: 'subscriptions', [mailRecord]: 'mail of a subscriber' },
    empty: ({ tenant, id }) => ({ tenant, id, subscriptions: [], mail: noMail }),
    put,
    decisions: {
      subscribe: (state, command, turn) => decideSubscribe(state, command, turn, notices),
      set_locale: decideSetLocale,
      unsubscribe: (state, command, turn) => decideUnsubscribe(state, command, turn, notices),
      topic_ended: (state, command, turn) => decideTopicEnded(state, command, turn, notices),
      erase: (state) => decideEraseSubscriber(state, notices),
      advance: decideAdvanceMail,
      failed: decideMailFailed,
    },
  })
}

function put(state: SubscriberState, { name, value }: RecordChange): void {
  if (name === subscriptionsRecord) state.subscriptions = (value as readonly StoredSubscription[] | null) ?? []
  else state.mail = (value as MailState | null) ?? noMail
}
