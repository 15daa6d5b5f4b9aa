import { restoreState } from '#actors/record-only'
import type { SubscriberCommand } from '#actors/subscriber/commands'
import { decideAdvance, decideFailed, noMail } from '#actors/subscriber/mail'
import type { SubscriberNotices } from '#actors/subscriber/notices'
import {
  type MailState,
  mailRecord,
  type SubscriberState,
  subscriberFormats,
  subscriptionsRecord,
} from '#actors/subscriber/state'
import {
  decideErase,
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
 * concurrent requests create one subscription, and so that one mail limit covers all subjects. §2.6, §3.1, contract
 * 5.6, 5.7.
 *
 * Subscriptions, their rows in the topic index and their entries are in one commit. The progress of mails causes no
 * events.
 */
export function subscriberActor(
  notices: SubscriberNotices,
): ActorDefinition<SubscriberState, SubscriberCommand, Entry> {
  return {
    kind: 'subscriber',
    persistence: 'write_through',
    formats: subscriberFormats,
    fixedRecords: [subscriptionsRecord, mailRecord],
    wake: ({ tenant, id }, records) => restoreState({ tenant, id, subscriptions: [], mail: noMail }, records, put),
    change: (state, change) => put(state, change as RecordChange),
    // Each entry comes with records, and those contain the complete change.
    apply() {},
    decide(state, command, turn) {
      switch (command.type) {
        case 'subscribe':
          return decideSubscribe(state, command, turn, notices)
        case 'set_locale':
          return decideSetLocale(state, command, turn)
        case 'unsubscribe':
          return decideUnsubscribe(state, command, turn, notices)
        case 'topic_ended':
          return decideTopicEnded(state, command, turn, notices)
        case 'erase':
          return decideErase(state, notices)
        case 'advance':
          return decideAdvance(state, command)
        case 'failed':
          return decideFailed(state, command)
      }
    },
  }
}

function put(state: SubscriberState, { name, value }: RecordChange): void {
  if (name === subscriptionsRecord) state.subscriptions = (value as readonly StoredSubscription[] | null) ?? []
  else state.mail = (value as MailState | null) ?? noMail
}
