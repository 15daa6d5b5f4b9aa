import { wokenBy } from '#actors/kept'
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
 * Somebody who is subscribed: what to, and how far he has heard of it. One actor for all that is his, so that of many who
 * subscribe him at once one does, and so that he has one hour, whatever his mails are about. §2.6, §3.1, contract 5.6, 5.7.
 *
 * His subscriptions, their rows in the index of topics, and the entries that tell of them are in one commit. How far he has
 * heard is nobody's event.
 */
export function subscriberActor(
  notices: SubscriberNotices,
): ActorDefinition<SubscriberState, SubscriberCommand, Entry> {
  return {
    kind: 'subscriber',
    rest: 'written_through',
    formats: subscriberFormats,
    fixedRecords: [subscriptionsRecord, mailRecord],
    wake: ({ tenant, id }, records) => wokenBy({ tenant, id, subscriptions: [], mail: noMail }, records, put),
    change: (state, change) => put(state, change as RecordChange),
    // Each of his entries comes with records, and these say all that it says.
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
