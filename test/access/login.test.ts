import { expect, test } from 'vitest'
import { IdentityFixture, password, place } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'

const key = makeKeyPair()
const wrong = 'unauthorized invalid credentials'

async function withAnn(): Promise<IdentityFixture> {
  const stage = await IdentityFixture.open()
  await stage.addUser('Ann', { email: 'Ann@acme.example' })
  stage.engine.calls.length = 0
  return stage
}

test.each(['Ann', 'ANN', 'ann@ACME.example'])(
  '%s and the password give a pair of tokens, bound to the key',
  async (name) => {
    const stage = await withAnn()
    const { accessToken } = await stage.logIn(name, key)
    expect(await stage.bound(accessToken, key)).toMatchObject({ tenant: 'default', name: 'Ann', roles: ['viewer'] })
    expect(await stage.judge(() => stage.bound(accessToken, makeKeyPair()))).toBe('unauthorized key mismatch')
    expect(await stage.judge(() => stage.bearer(accessToken))).toBe('unauthorized use the DPoP scheme')
  },
)

test('an unknown user, a wrong password, a disabled user and another host get the same answer, with one hash each', async () => {
  const stage = await withAnn()
  await stage.addUser('bob')
  await stage.directory({ type: 'update_user', user: stage.row('bob').id, state: 'disabled' })
  await stage.invite('cid')
  await stage.addTenant('acme', { hosts: ['acme.example'] })
  await stage.addUser('dan', { tenant: 'acme' })
  for (const [name, shown] of [
    ['nobody', password],
    ['Ann', 'wrong password'],
    ['bob', password],
    ['cid', password],
    ['dan', password],
  ] as const) {
    stage.engine.calls.length = 0
    const login = stage.identity.logins.logIn(stage.loginOf(name, key, { password: shown }))
    expect(await stage.refusal(login), name).toBe(wrong)
    expect(stage.engine.calls, name).toHaveLength(1)
  }
  const there = { ...place, host: 'ACME.example:8080' }
  expect(await stage.logIn('dan', key, { place: there })).toMatchObject({ accessToken: expect.any(String) })
})

test('a password that is valid in several tenants is a conflict, until one is given', async () => {
  const stage = await IdentityFixture.open()
  for (const tenant of ['acme', 'beta', 'other']) await stage.addTenant(tenant)
  const email = 'ann@acme.example'
  await stage.addUser('ann1', { tenant: 'acme', email })
  await stage.addUser('ann2', { tenant: 'beta', email })
  await stage.addUser('ann3', { tenant: 'other', email, password: 'another password' })
  const logIn = (more: object) => stage.wait(stage.identity.logins.logIn(stage.loginOf(email, key, more)))
  const conflict = await logIn({})
  expect(conflict).toMatchObject({
    type: 'conflict',
    tenants: [{ tenantIdentifier: 'acme' }, { tenantIdentifier: 'beta' }],
  })
  expect(await logIn({ tenantIdentifier: 'beta' })).toMatchObject({ type: 'pair' })
  expect(await logIn({ password: 'another password' })).toMatchObject({ type: 'pair' })
  const unknown = stage.identity.logins.logIn(stage.loginOf(email, key, { tenantIdentifier: 'gamma' }))
  expect(await stage.refusal(unknown)).toBe(wrong)
})

test('at most eight of nine possible accounts are checked', async () => {
  const stage = await IdentityFixture.open()
  const email = 'ann@acme.example'
  for (let number = 1; number <= 9; number++) {
    await stage.addTenant(`t${number}`)
    await stage.addUser(`ann${number}`, { tenant: `t${number}`, email })
  }
  stage.engine.calls.length = 0
  const login = stage.identity.logins.logIn(stage.loginOf(email, key, { password: 'wrong password' }))
  expect(await stage.refusal(login)).toBe(wrong)
  expect(stage.engine.calls).toHaveLength(8)
})

test('an address in several tenants costs as many hashes as any other', async () => {
  const stage = await IdentityFixture.open()
  for (const tenant of ['acme', 'beta', 'gamma']) await stage.addTenant(tenant, { hosts: [`${tenant}.example`] })
  const hashes = async (name: string, more: object = {}) => {
    stage.engine.calls.length = 0
    await stage.refusal(stage.identity.logins.logIn(stage.loginOf(name, key, { password: 'wrong', ...more })))
    return stage.engine.calls.length
  }
  await stage.addUser('ann', { tenant: 'acme', email: 'ann@acme.example' })
  expect([await hashes('ann@acme.example'), await hashes('nobody')]).toEqual([1, 1])
  await stage.addUser('ann2', { tenant: 'beta', email: 'ANN@acme.example' })
  await stage.addUser('ann3', { tenant: 'gamma', email: 'ann@acme.example' })
  for (const name of ['ann@acme.example', 'ann', 'nobody', 'root']) expect(await hashes(name), name).toBe(3)
  expect(await hashes('ann@acme.example', { tenantIdentifier: 'beta' })).toBe(3)
  expect(await hashes('ann@acme.example', { password })).toBe(3)
  const there = { place: { ...place, host: 'acme.example' } }
  expect(await hashes('ann@acme.example', there)).toBe(3)
  await stage.directory({ type: 'update_user', user: stage.row('ann2').id, email: null })
  for (const name of ['ann@acme.example', 'nobody']) expect(await hashes(name), name).toBe(2)
})

test.each(['login', 'basic'] as const)('a sign-in renews a hash of another cost: %s', async (way) => {
  const stage = await withAnn()
  const { tenant, id } = stage.row('ann')
  const hashOf = () => stage.account('ann').credentials?.hash
  const { version = 0 } = stage.account('ann').credentials ?? {}
  const old = `plain:old:${password}`
  const renew = { type: 'renew_hash', version, passwordHash: old }
  await stage.wait(stage.assembly.context.system.ask({ kind: 'account', tenant, id }, renew))
  const { accessToken } = await stage.logIn('root', key)
  const signIn = (shown: string) =>
    way === 'login'
      ? stage.identity.logins.logIn(stage.loginOf('ann', key, { password: shown }))
      : stage.identity.logins.basicToken(stage.basicOf('ann', false, shown))
  expect(await stage.refusal(signIn('wrong password'))).toBe(wrong)
  expect(hashOf()).toBe(old)
  expect(await stage.refusal(signIn(password))).toBeUndefined()
  const renewed = hashOf()
  expect([renewed === old, stage.account('ann').credentials?.version]).toEqual([false, version])
  expect(await stage.refusal(signIn(password))).toBeUndefined()
  expect([hashOf(), stage.account('ann').sessions.length]).toEqual([renewed, 2])
  expect(await stage.bound(accessToken, key)).toMatchObject({ name: 'root' })
})

test('an account of one tenant does not help to guess one of the same name in another', async () => {
  const stage = await IdentityFixture.open()
  const email = 'ann@acme.example'
  for (const tenant of ['acme', 'evil']) await stage.addTenant(tenant)
  await stage.addUser('victim', { tenant: 'acme', email })
  await stage.addUser('bait', { tenant: 'evil', email, password: 'guess number 1' })
  const logIn = (shown: string, from = place) =>
    stage.wait(stage.identity.logins.logIn(stage.loginOf(email, key, { password: shown, place: from })))
  for (let count = 0; count < 10; count++) expect(await logIn('guess number 1')).toMatchObject({ type: 'pair' })
  stage.engine.calls.length = 0
  // Now the victim is answered like an unknown user at the same cost, and the other account has no delay.
  expect(await logIn('guess number 1')).toMatchObject({ type: 'pair' })
  expect(stage.engine.calls).toHaveLength(2)
  expect(await stage.refusal(logIn(password))).toBe(wrong)
  expect(await logIn(password, { ...place, address: '192.0.2.9' })).toMatchObject({ type: 'pair' })
  await stage.world.advance(60_000)
  expect(await logIn(password)).toMatchObject({ type: 'pair' })
})

test('concurrent wrong passwords count like successive ones', async () => {
  const stage = await withAnn()
  const logIn = () => stage.refusal(stage.identity.logins.logIn(stage.loginOf('ann', key, { password: 'wrong' })))
  const refusals = await Promise.all(Array.from({ length: 20 }, logIn))
  expect(refusals.filter((refusal) => refusal === wrong)).toHaveLength(10)
  expect(stage.engine.calls).toHaveLength(10)
})

test.each(['disabled', 'invited'])('attempts on a user %s count in both schemes', async (state) => {
  const stage = await withAnn()
  if (state === 'invited') await stage.invite('bob')
  else {
    await stage.addUser('bob')
    await stage.directory({ type: 'update_user', user: stage.row('bob').id, state: 'disabled' })
  }
  for (let count = 0; count < 10; count++) await stage.refusal(stage.identity.logins.basicToken(stage.basicOf('bob')))
  const login = stage.identity.logins.logIn(stage.loginOf('bob', key))
  expect(await stage.refusal(login)).toBe('too_many_requests too many attempts')
})

test('an address with sixty failures is refused before its proof is checked, and refreshes continue', async () => {
  const stage = await withAnn()
  const { refreshToken } = await stage.logIn('ann', key)
  for (let count = 0; count < 60; count++) {
    const login = stage.identity.logins.logIn(stage.loginOf(`guess ${count}`, key, { password: 'wrong password' }))
    await stage.refusal(login)
  }
  const login = { method: 'POST', path: '/api/v1/auth/login', headers: { dpop: 'not a proof' } }
  expect(await stage.judge(() => stage.caller(login, 'proof'))).toBe('too_many_requests too many attempts')
  const renewed = stage.identity.logins.refresh({ refreshToken, jkt: key.jkt, place })
  expect(await stage.refusal(renewed)).toBeUndefined()
})

test('a missing proof is reported', async () => {
  const stage = await withAnn()
  const login = stage.identity.logins.logIn(stage.loginOf('ann', key, { jkt: undefined }))
  expect(await stage.refusal(login)).toBe('unauthorized missing proof')
})

test('a password that changes during the check is checked again', async () => {
  const stage = await withAnn()
  const login = stage.identity.logins.logIn(stage.loginOf('ann', key))
  const { tenant, id } = stage.row('ann')
  const { system } = stage.assembly.context
  const { version } = stage.account('ann').credentials ?? { version: 0 }
  const change = { type: 'set_password', version, passwordHash: 'plain:9:another password', keep: undefined }
  const changed = system.ask({ kind: 'account', tenant, id }, change)
  expect(await stage.refusal(login)).toBe(wrong)
  await stage.wait(changed)
})
