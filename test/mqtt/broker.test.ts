import { expect, test } from 'vitest'
import { Broker } from '#mqtt/broker'
import type { Client } from '#mqtt/client'
import type { Delivery } from '#mqtt/control-packets'
import { bytesOf } from '#mqtt/outgoing-messages'
import { ManualWorld } from '#test/runtime/manual-world'

test('messages that wait for their receivers are limited by their memory', async () => {
  const world = new ManualWorld()
  const mayReceive = () => {
    world.spend(5)
    return true
  }
  const broker = new Broker({ world, mayReceive })
  const sent: string[] = []
  const subscriptions = new Map()
  const outgoing = { send: ({ delivery: { topic } }: { delivery: Delivery }) => sent.push(topic) }
  const client = { unsentBytes: () => 0, outgoing, subscriptions } as unknown as Client
  broker.subscribe('a session', client, { topic: 'a', qos: 0 })
  const message = { topic: 'a', payload: new Uint8Array(250_000), qos: 0, expiresAt: Number.POSITIVE_INFINITY } as const
  let delivered = 0
  const publishAll = () =>
    Array.from({ length: 300 }, () => broker.publish(message, undefined, false, () => delivered++))
  const countMax = Math.floor((64 * 1024 * 1024) / 250_201)
  for (let round = 1; round <= 2; round++) {
    expect(publishAll().filter((isTaken) => isTaken)).toHaveLength(countMax)
    expect(broker.publish({ ...message, topic: 'refused' }, undefined, true, () => delivered++)).toBe(false)
    await world.settle()
    expect(delivered).toBe(round * countMax)
  }
  const subscription = { topic: 'refused', qos: 0 } as const
  subscriptions.set('refused', subscription)
  broker.sendRetained(client, subscription)
  await world.settle()
  expect(sent).not.toContain('refused')
})

test('retained messages are limited by the memory of their properties too', () => {
  const broker = new Broker({ world: new ManualWorld(), mayReceive: () => true })
  const userProperties = Object.fromEntries(Array.from({ length: 4_000 }, (_, at) => [at.toString(36), '']))
  const large = { topic: 'a', payload: new Uint8Array(1), qos: 0, expiresAt: Number.POSITIVE_INFINITY } as const
  const message = { ...large, properties: { userProperties } }
  const retain = (topic: string) => broker.publish({ ...message, topic }, undefined, true, () => {})
  const retained = Array.from({ length: 200 }, (_, place) => retain(`a/${place}`)).filter((isTaken) => isTaken)
  const countMax = (64 * 1024 * 1024) / bytesOf(message)
  expect(countMax - retained.length).toBeGreaterThanOrEqual(0)
  expect(countMax - retained.length).toBeLessThan(1.1)
  expect(broker.publish({ ...large, topic: 'small' }, undefined, true, () => {})).toBe(true)
})

test.each([
  [true, ['resumed: sent, unsent', 'missed']],
  [false, ['resumed: sent']],
])('a client that returns with rights (%s) gets only messages that it may receive', async (mayReceive, expected) => {
  const world = new ManualWorld()
  let isPermitted = true
  const broker = new Broker({ world, mayReceive: () => isPermitted })
  const sent: string[] = []
  const kept = {
    sent: [[1, { delivery: { topic: 'sent', payload: noBytes, qos: 1 } }]] as const,
    queue: [{ delivery: { topic: 'unsent', payload: noBytes, qos: 1 } }] as const,
  }
  const outgoing = {
    kept: () => kept,
    send: ({ delivery: { topic } }: { delivery: Delivery }) => sent.push(topic),
    resume: ({ sent: again, queue }: typeof kept) =>
      sent.push(
        `resumed: ${[...again.map(([, each]) => each), ...queue].map((each) => each.delivery.topic).join(', ')}`,
      ),
  }
  const client = { unsentBytes: () => 0, outgoing, subscriptions: new Map() } as unknown as Client
  broker.subscribe('a session', client, { topic: 'missed', qos: 1 })
  broker.left('a session', Number.POSITIVE_INFINITY)
  const missed = { topic: 'missed', payload: noBytes, qos: 1, expiresAt: Number.POSITIVE_INFINITY } as const
  broker.publish(missed, undefined, false, () => {})
  await world.settle()
  isPermitted = mayReceive
  broker.resume('a session', client)
  expect(sent).toEqual(expected)
})

const noBytes = new Uint8Array(0)
