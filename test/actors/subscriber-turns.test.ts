import { describe, expect, test } from 'vitest'
import { accountActor } from '#actors/account/account'
import { type DirectoryCommand, directoryAddress } from '#actors/directory/commands'
import { directoryActor } from '#actors/directory/directory'
import { noticeBus } from '#actors/notice-bus'
import { type OutboxCommand, outboxAddress, tallyRecord } from '#actors/outbox/outbox'
import { recordActor, recordOnly } from '#actors/record-actor'
import { type SubscriberCommand, subscriberAddress } from '#actors/subscriber/commands'
import { type SubscriberState, topicIndex, topicRow } from '#actors/subscriber/state'
import { subscriberActor } from '#actors/subscriber/subscriber'
import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import { tenantActor } from '#actors/tenant/tenant'
import type { Entry } from '#model/entry'
import type { AnyDefinition } from '#runtime/activation'
import type { ActorAddress, ActorDefinition } from '#runtime/actor'
import { hash } from '#test/actors/acting-account'
import { RecordingTopics, subscriptionOf } from '#test/actors/acting-subscriber'
import { RecordingNotices } from '#test/actors/recording-notices'
import { startMs } from '#test/runtime/manual-world'
import { openRuntime, type RuntimeFixture, type RuntimeFixtureOptions } from '#test/runtime/runtime-fixture'

const acme = 'acme'
const ann = subscriberAddress(acme, 'U1')
const key = subscriberAddress(acme, 'K1')

/** Counts its notices. */
const counting: ActorDefinition<{ notices: number }, OutboxCommand, Entry> = recordActor({
  kind: outboxAddress(acme).kind,
  records: { [tallyRecord]: 'tally of mails' },
  empty: () => ({ notices: 0 }),
  put: (state, { value }) => {
    state.notices = value as number
  },
  decisions: { count: ({ notices }) => recordOnly([{ name: tallyRecord, value: notices + 1 }]) },
})

/** User `U1` and API key `K1` of tenant `acme`, and their subscriptions. */
class SubscriberFixture {
  readonly topics: RecordingTopics
  readonly runtime: RuntimeFixture

  private constructor(runtime: RuntimeFixture, topics: RecordingTopics) {
    this.runtime = runtime
    this.topics = topics
  }

  static async open(options: RuntimeFixtureOptions = {}): Promise<SubscriberFixture> {
    const topics = new RecordingTopics()
    const subscribers = new SubscriberFixture(
      await openRuntime({ definitions: definitionsWith(topics), ...options }),
      topics,
    )
    const tenant = { tenantIdentifier: acme, name: acme, hosts: [], twoFactor: 'optional', basic: true } as const
    subscribers.ask(directoryAddress, { type: 'add_tenant', tenant })
    const user = { id: 'U1', tenant: acme, name: 'ann', email: null, roles: ['viewer'] }
    const code = { hash: hash(1), expiresAt: startMs + 9e8, resetsFactors: false }
    subscribers.ask(directoryAddress, { type: 'add_user', user, code })
    const added = { id: 'K1', name: 'k', hash: hash(2), roles: [], expiresAt: startMs + 60_000 }
    subscribers.ask(tenantAddress(acme), { type: 'add_api_key', ...added })
    await subscribers.runtime.settle()
    subscribers.runtime.outputs.length = 0
    return subscribers
  }

  async reborn(): Promise<SubscriberFixture> {
    const topics = new RecordingTopics()
    return new SubscriberFixture(await this.runtime.restart({ definitions: definitionsWith(topics) }), topics)
  }

  ask(to: ActorAddress, command: SubscriberCommand | DirectoryCommand | TenantCommand, label?: string): void {
    this.runtime.ask(to, command, label)
  }

  subscribe(who: ActorAddress, fn: string, id: string): void {
    this.ask(who, { type: 'subscribe', subscription: subscriptionOf(fn, id), from: 0 }, id)
  }

  stateOf(who: ActorAddress): SubscriberState {
    return this.runtime.system.peek(who) as SubscriberState
  }

  isRowStored(fn: string, who: ActorAddress, id: string): boolean {
    const { journal } = this.runtime
    return journal.get(journal.indexKey(acme, topicIndex, topicRow(fn, who.id, id))) !== undefined
  }
}

function definitionsWith(topics: RecordingTopics): () => AnyDefinition<Entry>[] {
  const notices = new RecordingNotices()
  return () =>
    [
      directoryActor(notices),
      accountActor,
      tenantActor(noticeBus(notices)),
      subscriberActor(topics),
      counting,
    ] as unknown as AnyDefinition<Entry>[]
}

describe('subscriptions end in the same commit as', () => {
  test.each<[string, ActorAddress, (fixture: SubscriberFixture) => void]>([
    ['their user', ann, (fixture) => fixture.ask(directoryAddress, { type: 'remove_user', user: 'U1' })],
    [
      'the key that owns them',
      key,
      (fixture) => fixture.ask(tenantAddress(acme), { type: 'delete_key', kind: 'api_key', id: 'K1' }),
    ],
    ['the lifetime of the key that owns them', key, (fixture) => fixture.runtime.world.spend(60_000)],
  ])('%s, without a notice', async (_, who, end) => {
    const subscribers = await SubscriberFixture.open()
    for (const each of [ann, key]) subscribers.subscribe(each, 'F1', `S${each.id}`)
    await subscribers.runtime.settle()
    const [events, commits] = [subscribers.runtime.events.length, subscribers.runtime.commits.length]
    subscribers.topics.lines.length = 0
    end(subscribers)
    await subscribers.runtime.world.advance(0)
    await subscribers.runtime.settle()
    expect(subscribers.runtime.commits).toHaveLength(commits + 1)
    expect(subscribers.runtime.events).toHaveLength(events)
    expect(subscribers.topics.received).toEqual([`- ${acme}/F1`])
    const left = [ann, key].filter((each) => subscribers.isRowStored('F1', each, `S${each.id}`))
    expect(left).toEqual(who === ann ? [key] : [ann])
    for (const each of [ann, key])
      expect(subscribers.stateOf(each).subscriptions).toHaveLength(left.includes(each) ? 1 : 0)
    expect([subscribers.runtime.refusedTells, subscribers.runtime.bugs]).toEqual([[], []])
  })
})
