import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  type DeliveryCommand,
  type DeliveryCommands,
  type DeliveryState,
  deliveryActor,
} from '#actors/delivery/delivery'
import type { DeliveryHead } from '#model/delivery'
import type { Entry } from '#model/entry'
import type { StoredWebhook } from '#model/webhook'
import type { Decision } from '#runtime/actor'
import { ActingActor, now, outcomeOf } from '#test/actors/acting-actor'
import { forAll } from '#test/kit/for-all'

const event = { at: now - 5, device: 'A', value: 31, previous: 30, cause: { on: 'status' } } as const
const request = { type: 'request', request: { ...event, node: 'mail', template: 'words' } } as const
const webhook = { type: 'webhook', request: { ...event, node: 'hook' } } as const

const ended = (id: string, more: Partial<DeliveryCommands['webhook_ended']> = {}): DeliveryCommand => {
  return { type: 'webhook_ended', id, status: 'DELIVERED', result: 200, isTried: true, ...more }
}

/** The delivery actor of function `F` of tenant `t`, without a runtime. It stores at most three requests by default. */
class ActingDelivery extends ActingActor<DeliveryState, DeliveryCommand> {
  readonly heads: DeliveryHead[]
  readonly added: StoredWebhook[]
  readonly rows = new Set<string>()

  constructor(storedRequestsMax = 3) {
    const heads: DeliveryHead[] = []
    const requested = (tenant: string, fn: string, head: DeliveryHead) => {
      expect(`${tenant}/${fn}`).toBe('t/F')
      heads.push(head)
    }
    const added: StoredWebhook[] = []
    const notices = { requested, webhookAdded: (_: string, __: string, each: StoredWebhook) => added.push(each) }
    const parts = { notices: { ...notices, webhooksForgotten: () => {} }, storedRequestsMax }
    super(deliveryActor(parts), { tenant: 't', id: 'F' })
    this.heads = heads
    this.added = added
  }

  override act(command: DeliveryCommand): Decision<Entry> {
    const decision = super.act(command)
    for (const { index, entry, isPresent } of decision.type === 'record' ? (decision.indexes ?? []) : []) {
      expect([index, entry]).toEqual(['delivering', 'F'])
      expect(this.rows.has(entry)).toBe(!isPresent)
      if (isPresent) this.rows.add(entry)
      else this.rows.delete(entry)
    }
    return decision
  }

  get storedSeqs(): number[] {
    return [...this.state.requests.keys()]
  }
}

let delivery: ActingDelivery
beforeEach(() => {
  delivery = new ActingDelivery()
})

describe('requests of a function', () => {
  test('are numbered and stored in order, and the head is published', () => {
    delivery.act(request)
    delivery.at += 7
    delivery.act(request)
    expect(delivery.state.requests.get(1)).toEqual({ ...request.request, seq: 1 })
    expect(delivery.heads).toEqual([
      { seq: 1, trimmed: 0, at: now },
      { seq: 2, trimmed: 0, at: now + 7 },
    ])
    expect([...delivery.records.keys()]).toEqual(['head', 'request/0000000000000001', 'request/0000000000000002'])
    expect([...delivery.rows]).toEqual(['F'])
  })

  test('are deleted after every subscriber has received them, and the index row is removed with the last one', () => {
    for (let count = 0; count < 3; count++) delivery.act(request)
    delivery.act({ type: 'trim', to: 2 })
    expect([delivery.storedSeqs, [...delivery.rows]]).toEqual([[3], ['F']])
    delivery.act({ type: 'trim', to: 9 })
    expect([delivery.storedSeqs, [...delivery.rows], delivery.state.head]).toEqual([
      [],
      [],
      { seq: 3, trimmed: 3, at: now },
    ])
    expect([...delivery.records.keys()]).toEqual(['head'])
    delivery.act(request)
    expect([delivery.storedSeqs, [...delivery.rows]]).toEqual([[4], ['F']])
  })

  test('are deleted with the function, together with its webhooks, and a second deletion changes nothing', () => {
    for (const each of [request, request, webhook, webhook]) delivery.act(each)
    delivery.act(ended(delivery.added[0]?.id ?? ''))
    delivery.act({ type: 'forget' })
    expect([delivery.records.size, delivery.rows.size]).toEqual([0, 0])
    expect(delivery.heads.at(-1)).toEqual({ seq: 0, trimmed: 0, at: 0 })
    expect(outcomeOf(delivery.act({ type: 'forget' }))).toBeUndefined()
  })

  test('keep the actor in memory while they are stored', () => {
    expect(delivery.definition.isForgettable?.(delivery.state)).toBe(true)
    delivery.act(request)
    expect(delivery.definition.isForgettable?.(delivery.state)).toBe(false)
  })

  test('stay within the limit, in order and above the trimmed number, and have an index row, after any commands', () => {
    const places = fc.nat(8)
    const command = fc.oneof(
      fc.constant(request),
      fc.constant(webhook),
      places.map((place) => ({ type: 'webhook_tried', id: String(place), result: 500, nextAt: now }) as const),
      places.map((place) => ended(String(place))),
      fc.nat(5).map((count) => ({ type: 'overflowed', count: count + 1 }) as const),
      fc.nat(30).map((to) => ({ type: 'trim', to }) as const),
      fc.constant({ type: 'forget' } as const),
    )
    forAll([fc.array(command, { maxLength: 40 })], (commands) => {
      const delivery = new ActingDelivery()
      for (const each of commands) {
        const id = 'id' in each ? delivery.added[Number(each.id)]?.id : undefined
        delivery.act('id' in each ? { ...each, id: id ?? '' } : each)
        const { head } = delivery.state
        expect(delivery.storedSeqs).toEqual([...delivery.storedSeqs].sort((a, b) => a - b))
        expect(delivery.storedSeqs.length).toBeLessThanOrEqual(3)
        expect(delivery.storedSeqs.every((seq) => seq > head.trimmed && seq <= head.seq)).toBe(true)
        expect(delivery.rows.has('F')).toBe(head.seq > head.trimmed || delivery.state.webhooks.size > 0)
      }
    })
  })
})

describe('webhooks of a function', () => {
  test('are each stored under a new id until they end, separately from mails', () => {
    delivery.act(webhook)
    delivery.act(webhook)
    const stored = { ...webhook.request, attempts: 0, nextAt: now, result: null }
    const anId = expect.stringMatching(/^msg_[\w-]{22}$/)
    expect(delivery.added).toEqual([1, 2].map(() => ({ ...stored, id: anId })))
    const [first, second] = delivery.added.map(({ id }) => id) as [string, string]
    expect(first).not.toBe(second)
    expect(delivery.definition.isForgettable?.(delivery.state)).toBe(false)
    delivery.act({ type: 'webhook_tried', id: first, result: 503, nextAt: now + 5_000 })
    expect(delivery.state.webhooks.get(first)).toMatchObject({ attempts: 1, result: 503, nextAt: now + 5_000 })
    delivery.act(ended(first))
    expect([[...delivery.state.webhooks.keys()], [...delivery.rows]]).toEqual([[second], ['F']])
    delivery.act(ended(second, { status: 'DROPPED', result: 'overflow', isTried: false }))
    expect(delivery.rows.size).toBe(0)
    expect(delivery.state.results.get(first)).toEqual({
      ...{ id: first, node: 'hook', status: 'DELIVERED', result: 200, attempts: 2, time: now },
    })
    expect(delivery.state.results.get(second)).toMatchObject({ status: 'DROPPED', attempts: 0 })
    expect(delivery.heads).toEqual([])
  })

  test('leave only the latest results', () => {
    for (let count = 0; count < 102; count++) delivery.act(webhook)
    const ids = delivery.added.map(({ id }) => id).reverse()
    for (const id of ids) {
      delivery.at++
      delivery.act(ended(id))
    }
    expect(new Set(delivery.state.results.keys())).toEqual(new Set(ids.slice(2)))
  })

  test('that are dropped share one result for each node and minute', () => {
    const drop = (node: string, count: number, afterMs: number) => {
      delivery.at += afterMs
      delivery.act({ type: 'webhooks_dropped', node, count })
    }
    drop('hook', 5, 0)
    drop('hook', 2, 59_999)
    drop('other', 1, 1)
    drop('hook', 40, 1)
    drop('other', 4, 1)
    drop('hook', 3, 60_000)
    const rows = [...delivery.state.results.values()].map(({ node, count, time }) => [node, count, time - now])
    expect(rows).toEqual([
      ['hook', 47, 60_001],
      ['other', 5, 60_002],
      ['hook', 3, 120_002],
    ])
  })
})
