import { expect, test } from 'vitest'
import { subscriberAddress, topicIndex, topicRow } from '#actors/subscriber/address'
import type { SubscriberState } from '#actors/subscriber/state'
import { IdentityStage, place } from '#test/access/identity-stage'
import { makeKeyPair } from '#test/access/key-pair'
import { subscriptionOf } from '#test/actors/acting-subscriber'

const key = makeKeyPair()

async function withAcme(): Promise<{ stage: IdentityStage; token: string }> {
  const stage = await IdentityStage.open()
  await stage.addTenant('acme')
  await stage.putRole('ops', [{ permissions: { schemas: ['read'] }, devices: ['*'], services: ['*'] }], 'acme')
  await stage.addUser('ann', { tenant: 'acme', roles: ['ops'] })
  await stage.tenant('acme', { type: 'admit_device', device: 'SENSOR-1', meta: {} })
  return { stage, token: (await stage.basic('ann')).token }
}

test('a deleted tenant is nobody at once: tokens, sockets, tickets, logins', async () => {
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

test('what it left is swept, and the name is free again, with nothing of before', async () => {
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

test('what its people were subscribed to is swept along, and nobody hears of it', async () => {
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
  expect((system.look(ann) as SubscriberState).subscriptions).toEqual([])
  expect([socket.types, stage.errors]).toEqual([types, []])
})

test('another tenant of the same name begins clean: its dashboards hear what happens in it, at offsets of its own', async () => {
  const { stage, token } = await withAcme()
  const before = stage.connect(await stage.bearer(token), 'now')
  const happen = (service: string) =>
    stage.tenant('acme', { type: 'put_schema', service, schema: { serviceIdentifier: service } as never })
  await happen('one')
  const old = before.heard.at(-1)
  expect(old).toMatchObject({ type: 'SCHEMA_ADD', offset: expect.any(Number) })
  await stage.directory({ type: 'delete_tenant', tenant: 'acme' })
  await stage.world.advance(10_000)

  await stage.addTenant('acme')
  await stage.putRole('ops', [{ permissions: { schemas: ['read'] }, devices: ['*'], services: ['*'] }], 'acme')
  await stage.addUser('ann', { tenant: 'acme', roles: ['ops'] })
  const caller = await stage.bearer((await stage.basic('ann')).token)
  expect(caller.scopeSince).toBe(-1)
  const { epoch } = stage.assembly.context.reader
  const first = stage.connect(caller, 'now')
  const [{ offset: begun }] = first.heard as unknown as [{ offset: number }]
  expect(begun).toBeGreaterThan(Number(old?.offset))
  // Nothing happened since: whoever was told so goes on from there, and nobody from where the old one ended.
  const resumed = stage.connect(caller, { after: { epoch, offset: begun } })
  const stale = stage.connect(caller, { after: { epoch, offset: Number(old?.offset) } })
  expect(resumed.heard).toEqual([{ type: 'STREAM', epoch, offset: begun, recovered: true }])
  expect(stale.heard).toEqual([{ type: 'STREAM', epoch, offset: begun, recovered: false }])
  await happen('two')
  for (const socket of [first, resumed, stale]) {
    expect(socket.heard.slice(1)).toMatchObject([{ type: 'SCHEMA_ADD', offset: begun + 1 }])
  }
  // An edit holds from what was told in this one.
  await stage.putRole(
    'ops',
    [{ permissions: { schemas: ['read'], meta: ['read'] }, devices: ['*'], services: ['*'] }],
    'acme',
  )
  await stage.world.settle()
  expect(stage.tenantState('acme').roles.get('ops')?.since).toBe(begun + 1)
  expect(first.heard.slice(2)).toEqual([{ type: 'RESYNC', epoch, offset: begun + 1 }])
})

test.each([0, 1, 2, 4, 8])('a removal that was killed after %i writes goes on at the next start', async (writes) => {
  const { stage } = await withAcme()
  const { system } = stage.assembly.context
  const deleted = system.ask(
    { kind: 'directory', tenant: 'default', id: 'directory' },
    {
      type: 'delete_tenant',
      tenant: 'acme',
    },
  )
  deleted.catch(() => {})
  for (let step = 0; step < 4 * writes; step++) {
    stage.world.step()
    await Promise.resolve()
  }
  const later = await stage.restart({}, writes)
  await later.world.advance(10_000)
  const row = later.directoryState.tenants.get('acme')
  // Either it was never deleted, or nothing of it is left.
  if (row) expect(row.state).toBe('active')
  else expect([...later.directoryState.byName.keys()]).toEqual(['root'])
})
