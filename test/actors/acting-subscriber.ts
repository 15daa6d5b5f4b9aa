import type { SubscriberNotices } from '#actors/notice-bus'
import {
  partsOfTopicRow,
  type SubscriberCommand,
  type SubscriberCommands,
  type SubscriberState,
  topicIndex,
} from '#actors/subscriber/state'
import { subscriberActor } from '#actors/subscriber/subscriber'
import type { Entry } from '#model/entry'
import type { StoredSubscription } from '#model/subscription'
import type { CommandOf, Decision, Recorded } from '#runtime/actor'
import { ActingActor, now } from '#test/actors/acting-actor'
import { RecordedLines } from '#test/actors/recording-notices'

export const ada = 'crn#user:2Vb7qYx9Kd'

export class RecordingTopics extends RecordedLines implements SubscriberNotices {
  subscribed(tenant: string, fn: string): void {
    this.lines.push(`+ ${tenant}/${fn}`)
  }

  unsubscribed(tenant: string, fn: string): void {
    this.lines.push(`- ${tenant}/${fn}`)
  }
}

/** The subscriber actor of user Ada of tenant `t`, without a runtime. It records the rows of the topic index. */
export class ActingSubscriber extends ActingActor<SubscriberState, SubscriberCommand> {
  readonly notices: RecordingTopics
  readonly rows = new Set<string>()
  readonly entries: Entry[] = []

  constructor() {
    const notices = new RecordingTopics()
    super(subscriberActor(notices), { tenant: 't', id: '2Vb7qYx9Kd' })
    this.notices = notices
  }

  override apply(decision: Recorded<Entry>): void {
    for (const { index, entry, isPresent } of decision.indexes ?? []) {
      if (index !== topicIndex) throw new Error(`a subscriber has no row in ${index}`)
      if (isPresent) this.rows.add(entry)
      else this.rows.delete(entry)
    }
    this.entries.push(...decision.events)
    super.apply(decision)
  }

  /** Subscribes to a function whose last request has number `from`. */
  subscribe(fn: string, id: string, { from = 0, ...more }: Partial<StoredSubscription> & { from?: number } = {}) {
    return this.act({ type: 'subscribe', subscription: subscriptionOf(fn, id, more), from })
  }

  unsubscribe(id: string): Decision<Entry> {
    return this.act({ type: 'unsubscribe', id })
  }

  /** The rows as `<function> <subscription>`, sorted. */
  get topics(): string[] {
    return [...this.rows]
      .map(partsOfTopicRow)
      .map((row) => `${row.function} ${row.subscription}`)
      .sort()
  }
}

export function subscriptionOf(fn: string, id: string, more: Partial<StoredSubscription> = {}): StoredSubscription {
  return {
    id,
    function: fn,
    type: 'email',
    locale: 'de',
    createdBy: ada,
    createdAt: now,
    origin: 'https://iot.example',
    ...more,
  }
}

/** The report of a sent mail, which is the first one of the present hour. */
export function sent(
  subscription: string,
  to: number,
  more: Partial<SubscriberCommands['advance']> = {},
): CommandOf<SubscriberCommands, 'advance'> {
  return {
    type: 'advance',
    moves: [{ subscription, to }],
    outcome: { sent: 'mail', of: 1 },
    hour: { from: now, count: 1 },
    refusals: null,
    ...more,
  }
}
