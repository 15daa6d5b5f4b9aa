import { expect, test } from 'vitest'
import { makeKeyPair } from '#test/iam/key-pair'
import { IdentityStage, place } from '#test/identity/identity-stage'

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
  const caller = stage.bearer(token)
  const socket = stage.connect(caller)
  const ticket = stage.assembly.context.tickets.issue(caller)
  const { refreshToken } = await stage.logIn('ann', key)
  const deleted = stage.directory({ type: 'delete_tenant', tenant: 'acme' })
  await deleted
  expect(caller.isCurrent()).toBe(false)
  expect(stage.judge(() => stage.bearer(token))).toBe('unauthorized session over')
  expect(stage.judge(() => stage.assembly.context.tickets.consume(ticket))).toBe(
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
  expect(stage.judge(() => stage.bearer(token))).toBe('unauthorized session over')
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
