import { expect, test } from 'vitest'
import { subscriberAddress } from '#actors/subscriber/commands'
import { type SubscriberState, topicIndex, topicRow } from '#actors/subscriber/state'
import { IdentityFixture, place } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'
import { subscriptionOf } from '#test/actors/acting-subscriber'

const key = makeKeyPair()

async function withAcme(): Promise<{ stage: IdentityFixture; token: string }> {
  const stage = await IdentityFixture.open()
  await stage.addTenant('acme')
  await stage.putRole('ops', [{ permissions: { schemas: ['read'] }, devices: ['*'], services: ['*'] }], 'acme')
  await stage.addUser('ann', { tenant: 'acme', roles: ['ops'] })
  await stage.tenant('acme', { type: 'admit_device', device: 'SENSOR-1', meta: {} })
  return { stage, token: (await stage.basic('ann')).token }
}

test('tokens, sockets, tickets and sign-ins of a deleted tenant end at once', async () => {
  const { stage, token } = await withAcme()
  const caller = await stage.bearer(token)
  const socket = stage.connect(caller)
  const ticket = stage.assembly.context.tickets.issue(caller)
  const { refreshToken } = await stage.logIn('ann', key)
  const deleted = stage.directory({ type: 'delete_tenant', tenant: 'acme' })
  await deleted
  expect(caller.isCurrent()).toBe(false)
  expect(await stage.judge(() => stage.bearer(token))).toBe('unauthorized session over')
  expect(await stage.judge(() => stage.assembly.context.tickets.consume(ticket))).toBe(
    'unauthorized invalid or expired ticket',
  )
  const { logins } = stage.identity
  expect(await stage.refusal(logins.logIn(stage.loginOf('ann', key)))).toBe('unauthorized invalid credentials')
  expect(await stage.refusal(logins.refresh({ refreshToken, jkt: key.jkt, place }))).toBe(
    'unauthorized invalid refresh token',
  )
  await stage.world.settle()
  expect(socket.endCode).toBe(4401)
})

test('the data of a deleted tenant is removed, and a new tenant of the name is empty', async () => {
  const { stage, token } = await withAcme()
  await stage.directory({ type: 'delete_tenant', tenant: 'acme' })
  await stage.world.advance(10_000)
  expect(stage.errors).toEqual([])
  expect(stage.directoryState.tenants.has('acme')).toBe(false)
  expect([...stage.directoryState.byName.keys()]).toEqual(['root'])
  await stage.addTenant('acme')
  expect(stage.tenantState('acme')).toMatchObject({ counters: { devices: 0 } })
  expect(stage.tenantState('acme').roles.size).toBe(0)
  expect(await stage.judge(() => stage.bearer(token))).toBe('unauthorized session over')
})

test('subscriptions of a deleted tenant are removed without an event', async () => {
  const { stage, token } = await withAcme()
  const { system, listing } = stage.assembly.context
  const ann = subscriberAddress('acme', stage.row('ann').id)
  const rows = async () => {
    const pages = listing.entries(topicIndex, 'acme')
    const found = await stage.wait(pages.next(10))
    await stage.wait(pages.close())
    return found
  }
  const subscription = subscriptionOf('6Hn3wRt5Mz', '7Jn3wRt5Mz')
  await stage.wait(system.ask(ann, { type: 'subscribe', subscription, from: 0 }))
  expect(await rows()).toEqual([topicRow('6Hn3wRt5Mz', ann.id, '7Jn3wRt5Mz')])
  const socket = stage.connect(await stage.bearer(token), 'now')
  const { types } = socket
  await stage.directory({ type: 'delete_tenant', tenant: 'acme' })
  await stage.world.advance(10_000)
  await stage.addTenant('acme')
  expect(await rows()).toEqual([])
  expect((system.peek(ann) as SubscriberState).subscriptions).toEqual([])
  expect([socket.types, stage.errors]).toEqual([types, []])
})
