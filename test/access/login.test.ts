import { expect, test } from 'vitest'
import { IdentityFixture, origin, password } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'

const key = makeKeyPair()
const wrong = 'unauthorized invalid credentials'

async function withAnn(): Promise<IdentityFixture> {
  const fixture = await IdentityFixture.open()
  await fixture.addUser('Ann', { email: 'Ann@acme.example' })
  fixture.engine.calls.length = 0
  return fixture
}

test.each(['Ann', 'ANN', 'ann@ACME.example'])(
  '%s and the password give a pair of tokens that are bound to the key',
  async (name) => {
    const fixture = await withAnn()
    const { accessToken } = await fixture.logIn(name, key)
    expect(await fixture.bound(accessToken, key)).toMatchObject({ tenant: 'default', name: 'Ann', roles: ['viewer'] })
    expect(await fixture.judge(() => fixture.bound(accessToken, makeKeyPair()))).toBe('unauthorized key mismatch')
    expect(await fixture.judge(() => fixture.bearer(accessToken))).toBe('unauthorized use the DPoP scheme')
  },
)

test('an unknown user, a wrong password, a disabled user and another host get the same answer after one hash each', async () => {
  const fixture = await withAnn()
  await fixture.addUser('bob')
  await fixture.directory({ type: 'update_user', user: fixture.row('bob').id, state: 'disabled' })
  await fixture.invite('cid')
  await fixture.addTenant('acme', { hosts: ['acme.example'] })
  await fixture.addUser('dan', { tenant: 'acme' })
  for (const [name, shown] of [
    ['nobody', password],
    ['Ann', 'wrong password'],
    ['bob', password],
    ['cid', password],
    ['dan', password],
  ] as const) {
    fixture.engine.calls.length = 0
    const login = fixture.identity.logins.logIn(fixture.loginOf(name, key, { password: shown }))
    expect(await fixture.refusal(login), name).toBe(wrong)
    expect(fixture.engine.calls, name).toHaveLength(1)
  }
  const there = { ...origin, host: 'ACME.example:8080' }
  expect(await fixture.logIn('dan', key, { origin: there })).toMatchObject({ accessToken: expect.any(String) })
})

test('a sign-in that is valid in several tenants is a conflict, unless it names a tenant', async () => {
  const fixture = await IdentityFixture.open()
  for (const tenant of ['acme', 'beta', 'other']) await fixture.addTenant(tenant)
  const email = 'ann@acme.example'
  await fixture.addUser('ann1', { tenant: 'acme', email })
  await fixture.addUser('ann2', { tenant: 'beta', email })
  await fixture.addUser('ann3', { tenant: 'other', email, password: 'another password' })
  const logIn = (more: object) => fixture.wait(fixture.identity.logins.logIn(fixture.loginOf(email, key, more)))
  const conflict = await logIn({})
  expect(conflict).toMatchObject({
    type: 'conflict',
    tenants: [{ tenantIdentifier: 'acme' }, { tenantIdentifier: 'beta' }],
  })
  expect(await logIn({ tenantIdentifier: 'beta' })).toMatchObject({ type: 'pair' })
  expect(await logIn({ password: 'another password' })).toMatchObject({ type: 'pair' })
  const unknown = fixture.identity.logins.logIn(fixture.loginOf(email, key, { tenantIdentifier: 'gamma' }))
  expect(await fixture.refusal(unknown)).toBe(wrong)
})

test('at most eight accounts with the same address are checked', async () => {
  const fixture = await IdentityFixture.open()
  const email = 'ann@acme.example'
  for (let number = 1; number <= 9; number++) {
    await fixture.addTenant(`t${number}`)
    await fixture.addUser(`ann${number}`, { tenant: `t${number}`, email })
  }
  fixture.engine.calls.length = 0
  const login = fixture.identity.logins.logIn(fixture.loginOf(email, key, { password: 'wrong password' }))
  expect(await fixture.refusal(login)).toBe(wrong)
  expect(fixture.engine.calls).toHaveLength(8)
})

test('an unknown name costs as many hashes as an address that several accounts have', async () => {
  const fixture = await IdentityFixture.open()
  for (const tenant of ['acme', 'beta', 'gamma']) await fixture.addTenant(tenant, { hosts: [`${tenant}.example`] })
  const hashes = async (name: string, more: object = {}) => {
    fixture.engine.calls.length = 0
    await fixture.refusal(fixture.identity.logins.logIn(fixture.loginOf(name, key, { password: 'wrong', ...more })))
    return fixture.engine.calls.length
  }
  await fixture.addUser('ann', { tenant: 'acme', email: 'ann@acme.example' })
  expect([await hashes('ann@acme.example'), await hashes('nobody')]).toEqual([1, 1])
  await fixture.addUser('ann2', { tenant: 'beta', email: 'ANN@acme.example' })
  await fixture.addUser('ann3', { tenant: 'gamma', email: 'ann@acme.example' })
  for (const name of ['ann@acme.example', 'ann', 'nobody', 'root']) expect(await hashes(name), name).toBe(3)
  expect(await hashes('ann@acme.example', { tenantIdentifier: 'beta' })).toBe(3)
  expect(await hashes('ann@acme.example', { password })).toBe(3)
  const there = { origin: { ...origin, host: 'acme.example' } }
  expect(await hashes('ann@acme.example', there)).toBe(3)
  await fixture.directory({ type: 'update_user', user: fixture.row('ann2').id, email: null })
  for (const name of ['ann@acme.example', 'nobody']) expect(await hashes(name), name).toBe(2)
})

test.each(['login', 'basic'] as const)('a sign-in replaces a hash that has an outdated cost: %s', async (way) => {
  const fixture = await withAnn()
  const { tenant, id } = fixture.row('ann')
  const hashOf = () => fixture.account('ann').credentials?.hash
  const { version = 0 } = fixture.account('ann').credentials ?? {}
  const old = `plain:old:${password}`
  const renew = { type: 'renew_hash', version, passwordHash: old }
  await fixture.wait(fixture.assembly.context.system.ask({ kind: 'account', tenant, id }, renew))
  const { accessToken } = await fixture.logIn('root', key)
  const signIn = (shown: string) =>
    way === 'login'
      ? fixture.identity.logins.logIn(fixture.loginOf('ann', key, { password: shown }))
      : fixture.identity.logins.basicToken(fixture.basicOf('ann', false, shown))
  expect(await fixture.refusal(signIn('wrong password'))).toBe(wrong)
  expect(hashOf()).toBe(old)
  expect(await fixture.refusal(signIn(password))).toBeUndefined()
  const renewed = hashOf()
  expect([renewed === old, fixture.account('ann').credentials?.version]).toEqual([false, version])
  expect(await fixture.refusal(signIn(password))).toBeUndefined()
  expect([hashOf(), fixture.account('ann').sessions.length]).toEqual([renewed, 2])
  expect(await fixture.bound(accessToken, key)).toMatchObject({ name: 'root' })
})

test('an account does not help to guess the password of an account with the same address in another tenant', async () => {
  const fixture = await IdentityFixture.open()
  const email = 'ann@acme.example'
  for (const tenant of ['acme', 'evil']) await fixture.addTenant(tenant)
  await fixture.addUser('victim', { tenant: 'acme', email })
  await fixture.addUser('bait', { tenant: 'evil', email, password: 'guess number 1' })
  const logIn = (shown: string, from = origin) =>
    fixture.wait(fixture.identity.logins.logIn(fixture.loginOf(email, key, { password: shown, origin: from })))
  for (let count = 0; count < 10; count++) expect(await logIn('guess number 1')).toMatchObject({ type: 'pair' })
  fixture.engine.calls.length = 0
  // Now the victim gets the same answer as an unknown user, at the same cost. The other account has no delay.
  expect(await logIn('guess number 1')).toMatchObject({ type: 'pair' })
  expect(fixture.engine.calls).toHaveLength(2)
  expect(await fixture.refusal(logIn(password))).toBe(wrong)
  expect(await logIn(password, { ...origin, address: '192.0.2.9' })).toMatchObject({ type: 'pair' })
  await fixture.world.advance(60_000)
  expect(await logIn(password)).toMatchObject({ type: 'pair' })
})

test('concurrent wrong passwords count like successive ones', async () => {
  const fixture = await withAnn()
  const logIn = () => fixture.refusal(fixture.identity.logins.logIn(fixture.loginOf('ann', key, { password: 'wrong' })))
  const refusals = await Promise.all(Array.from({ length: 20 }, logIn))
  expect(refusals.filter((refusal) => refusal === wrong)).toHaveLength(10)
  expect(fixture.engine.calls).toHaveLength(10)
})

test.each(['disabled', 'invited'])('attempts on a user who is %s count in both schemes', async (state) => {
  const fixture = await withAnn()
  if (state === 'invited') await fixture.invite('bob')
  else {
    await fixture.addUser('bob')
    await fixture.directory({ type: 'update_user', user: fixture.row('bob').id, state: 'disabled' })
  }
  for (let count = 0; count < 10; count++)
    await fixture.refusal(fixture.identity.logins.basicToken(fixture.basicOf('bob')))
  const login = fixture.identity.logins.logIn(fixture.loginOf('bob', key))
  expect(await fixture.refusal(login)).toBe('too_many_requests too many attempts')
})

test('an address with sixty failures is refused before its proof is checked, but can refresh its tokens', async () => {
  const fixture = await withAnn()
  const { refreshToken } = await fixture.logIn('ann', key)
  for (let count = 0; count < 60; count++) {
    const login = fixture.identity.logins.logIn(fixture.loginOf(`guess ${count}`, key, { password: 'wrong password' }))
    await fixture.refusal(login)
  }
  const login = { method: 'POST', path: '/api/v1/auth/login', headers: { dpop: 'not a proof' } }
  expect(await fixture.judge(() => fixture.caller(login, 'proof'))).toBe('too_many_requests too many attempts')
  const renewed = fixture.identity.logins.refresh({ refreshToken, jkt: key.jkt, origin })
  expect(await fixture.refusal(renewed)).toBeUndefined()
})

test('a sign-in without a proof is refused', async () => {
  const fixture = await withAnn()
  const login = fixture.identity.logins.logIn(fixture.loginOf('ann', key, { jkt: undefined }))
  expect(await fixture.refusal(login)).toBe('unauthorized missing proof')
})

test('a password that changes while it is checked is checked again', async () => {
  const fixture = await withAnn()
  const login = fixture.identity.logins.logIn(fixture.loginOf('ann', key))
  const { tenant, id } = fixture.row('ann')
  const { system } = fixture.assembly.context
  const { version } = fixture.account('ann').credentials ?? { version: 0 }
  const change = { type: 'set_password', version, passwordHash: 'plain:9:another password', keep: undefined }
  const changed = system.ask({ kind: 'account', tenant, id }, change)
  expect(await fixture.refusal(login)).toBe(wrong)
  await fixture.wait(changed)
})
