import { expect, test } from 'vitest'
import { deviceAddress } from '#actors/device/device'
import { deviceTokenAddress } from '#actors/device-token/device-token'
import { type SubscriberState, subscriberAddress, topicIndex, topicRow } from '#actors/subscriber/state'
import { IdentityFixture, origin } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'
import { subscriptionOf } from '#test/actors/acting-subscriber'

const key = makeKeyPair()

async function withAcme(): Promise<{ fixture: IdentityFixture; token: string }> {
  const fixture = await IdentityFixture.open()
  await fixture.addTenant('acme')
  await fixture.putRole('ops', [{ permissions: { schemas: ['read'] }, devices: ['*'], services: ['*'] }], 'acme')
  await fixture.addUser('ann', { tenant: 'acme', roles: ['ops'] })
  await fixture.tenant('acme', { type: 'admit_device', device: 'SENSOR-1', meta: {} })
  return { fixture, token: (await fixture.basic('ann')).token }
}

test('tokens, sockets, tickets and sign-ins of a deleted tenant end at once', async () => {
  const { fixture, token } = await withAcme()
  const caller = await fixture.bearer(token)
  const socket = fixture.connect(caller)
  const ticket = fixture.assembly.context.events.tickets.issue(caller)
  const { refreshToken } = await fixture.logIn('ann', key)
  const deleted = fixture.directory({ type: 'delete_tenant', tenant: 'acme' })
  await deleted
  expect(caller.isCurrent()).toBe(false)
  expect(await fixture.judge(() => fixture.bearer(token))).toBe('unauthorized session over')
  expect(await fixture.judge(() => fixture.assembly.context.events.tickets.consume(ticket))).toBe(
    'unauthorized invalid or expired ticket',
  )
  const { logins } = fixture.identity
  expect(await fixture.refusal(logins.logIn(fixture.loginOf('ann', key)))).toBe('unauthorized invalid credentials')
  expect(await fixture.refusal(logins.refresh({ refreshToken, jkt: key.jkt, origin }))).toBe(
    'unauthorized invalid refresh token',
  )
  await fixture.world.settle()
  expect(socket.endCode).toBe(4401)
})

test('the data of a deleted tenant is removed, and a new tenant with this name is empty', async () => {
  const { fixture, token } = await withAcme()
  await fixture.directory({ type: 'delete_tenant', tenant: 'acme' })
  await fixture.world.advance(10_000)
  expect(fixture.errors).toEqual([])
  expect(fixture.directoryState.tenants.has('acme')).toBe(false)
  expect([...fixture.directoryState.byName.keys()]).toEqual(['root'])
  await fixture.addTenant('acme')
  expect(fixture.tenantState('acme')).toMatchObject({ counters: { devices: 0 } })
  expect(fixture.tenantState('acme').roles.size).toBe(0)
  expect(await fixture.judge(() => fixture.bearer(token))).toBe('unauthorized session over')
})

test('device tokens of a deleted tenant become free for other devices', async () => {
  const { fixture } = await withAcme()
  const { system } = fixture.assembly.context
  const hash = 'n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg'
  await fixture.wait(system.ask(deviceAddress('acme', 'SENSOR-1'), { type: 'set_token', hash }))
  expect(system.peek(deviceTokenAddress(hash))).toEqual({ owner: { tenant: 'acme', device: 'SENSOR-1' } })
  await fixture.directory({ type: 'delete_tenant', tenant: 'acme' })
  await fixture.world.advance(10_000)
  expect([system.peek(deviceTokenAddress(hash)), fixture.errors]).toEqual([{ owner: undefined }, []])
})

test('subscriptions of a deleted tenant are removed without an event', async () => {
  const { fixture, token } = await withAcme()
  const { system, listing } = fixture.assembly.context
  const ann = subscriberAddress('acme', fixture.row('ann').id)
  const rows = async () => {
    const pages = listing.entries(topicIndex, 'acme')
    const found = await fixture.wait(pages.next(10))
    await fixture.wait(pages.close())
    return found
  }
  const subscription = subscriptionOf('6Hn3wRt5Mz', '7Jn3wRt5Mz')
  await fixture.wait(system.ask(ann, { type: 'subscribe', subscription, from: 0 }))
  expect(await rows()).toEqual([topicRow('6Hn3wRt5Mz', ann.id, '7Jn3wRt5Mz')])
  const socket = fixture.connect(await fixture.bearer(token), 'now')
  const { types } = socket
  await fixture.directory({ type: 'delete_tenant', tenant: 'acme' })
  await fixture.world.advance(10_000)
  await fixture.addTenant('acme')
  expect(await rows()).toEqual([])
  expect((system.peek(ann) as SubscriberState).subscriptions).toEqual([])
  expect([socket.types, fixture.errors]).toEqual([types, []])
})
