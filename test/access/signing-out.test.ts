import { expect, test } from 'vitest'
import { IdentityFixture, lifetimes, place } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'

const key = makeKeyPair()

async function withAnn(): Promise<IdentityFixture> {
  const stage = await IdentityFixture.open()
  await stage.addUser('ann')
  return stage
}

test.each([false, true])('signing out ends the session and its sockets (all of them: %s)', async (isAll) => {
  const stage = await withAnn()
  const { accessToken } = await stage.logIn('ann', key)
  const { token } = await stage.basic('ann')
  const caller = await stage.bound(accessToken, key)
  const [own, other] = [stage.connect(caller), stage.connect(await stage.bearer(token))]
  await stage.wait(stage.identity.logins.signOut({ caller, isAll }))
  await stage.world.settle()
  expect(await stage.judge(() => stage.bound(accessToken, key))).toBe('unauthorized session over')
  expect(own.endCode).toBe(4401)
  expect(caller.isCurrent()).toBe(false)
  expect(await stage.judge(() => stage.bearer(token))).toBe(isAll ? 'unauthorized session over' : undefined)
  expect(other.endCode).toBe(isAll ? 4401 : undefined)
})

test('a refresh token signs out too, with its key', async () => {
  const stage = await withAnn()
  const { accessToken, refreshToken } = await stage.logIn('ann', key)
  const signOut = async (jkt: string | undefined, shown: string | undefined) => {
    const caller = { ...(await stage.caller({ method: 'POST', headers: { dpop: proofOf(stage) } }, 'proof')) }
    const { jkt: _, ...nobody } = caller
    return stage.identity.logins.signOut({
      caller: jkt === undefined ? nobody : { ...nobody, jkt },
      refreshToken: shown,
      isAll: false,
    })
  }
  expect(await stage.refusal(signOut(key.jkt, undefined))).toBe('invalid Validation Error')
  expect(await stage.refusal(signOut(key.jkt, 'nonsense'))).toBe('unauthorized invalid refresh token')
  expect(await stage.refusal(signOut(makeKeyPair().jkt, refreshToken))).toBe('unauthorized key mismatch')
  expect(await stage.bound(accessToken, key)).toMatchObject({ name: 'ann' })
  expect(await stage.refusal(signOut(key.jkt, refreshToken))).toBeUndefined()
  expect(await stage.judge(() => stage.bound(accessToken, key))).toBe('unauthorized session over')
})

function proofOf(stage: IdentityFixture): string {
  return stage.proof(key, { method: 'POST' })
}

test('sessions are listed, the last one first, and can be ended one by one', async () => {
  const stage = await withAnn()
  const { id } = stage.row('ann')
  const { accessToken } = await stage.logIn('ann', key)
  await stage.world.advance(90_000)
  const { token } = await stage.basic('ann')
  const current = (await stage.bound(accessToken, key)).session?.id ?? ''
  await stage.world.settle()
  const { sessions } = stage.identity
  const listed = await stage.wait(sessions.list('default', id, current))
  expect(listed).toMatchObject([
    { scheme: 'basic', isCurrent: false, address: '192.0.2.1', agent: 'a test' },
    { scheme: 'dpop', isCurrent: true, id: current },
  ])
  expect((listed[1]?.lastUsedAt ?? 0) - (listed[1]?.createdAt ?? 0)).toBe(90_000)
  await stage.wait(sessions.end('default', id, listed[0]?.id ?? ''))
  expect(await stage.judge(() => stage.bearer(token))).toBe('unauthorized session over')
  expect(await stage.refusal(sessions.end('default', id, 'unknown111'))).toBe('not_found Not Found')
  await stage.wait(sessions.endAll('default', id))
  expect(await stage.wait(sessions.list('default', id))).toEqual([])
})

test('the first of a hundred and one sessions ends', async () => {
  const stage = await withAnn()
  const tokens: string[] = []
  for (let count = 0; count <= 100; count++) tokens.push((await stage.basic('ann')).token)
  expect(await stage.judge(() => stage.bearer(tokens[0] ?? ''))).toBe('unauthorized session over')
  expect(await stage.judge(() => stage.bearer(tokens[1] ?? ''))).toBeUndefined()
  expect(stage.account('ann').sessions).toHaveLength(100)
})

test('sockets close in the millisecond in which the session ends', async () => {
  const stage = await withAnn()
  const { token } = await stage.basic('ann')
  const socket = stage.connect(await stage.bearer(token))
  await stage.world.advance(lifetimes.tokenMs - 1)
  await stage.world.settle()
  expect(socket.endCode).toBeUndefined()
  await stage.world.advance(1)
  await stage.world.settle()
  expect(socket.endCode).toBe(4401)
})

test('the use of a session is stored once a minute, with the last address', async () => {
  const stage = await withAnn()
  const { token } = await stage.basic('ann')
  const shown = () => stage.identity.sessions.list('default', stage.row('ann').id)
  const use = (address: string) => stage.caller({ headers: { authorization: `Bearer ${token}` }, address })
  await stage.world.advance(59_999)
  await use('192.0.2.2')
  expect(await stage.wait(shown())).toMatchObject([{ address: '192.0.2.1' }])
  await stage.world.advance(1)
  // A closed connection has no address.
  await use('')
  await use('192.0.2.3')
  await use('192.0.2.4')
  expect(await stage.wait(shown())).toMatchObject([{ address: '192.0.2.3' }])
})

test('a socket that opens while its session ends is closed, and receives nothing', async () => {
  const stage = await withAnn()
  const { accessToken } = await stage.logIn('ann', key)
  const caller = await stage.bound(accessToken, key)
  await stage.wait(stage.identity.logins.signOut({ caller, isAll: true }))
  const socket = stage.connect(caller)
  await stage.world.settle()
  expect(socket).toMatchObject({ endCode: 4401, heard: [] })
  expect(stage.identity.sockets.size).toBe(0)
})

test('a ticket is as valid as its session when it is used', async () => {
  const stage = await withAnn()
  const { tickets } = stage.assembly.context
  const { token } = await stage.basic('ann')
  const [first, second] = [tickets.issue(await stage.bearer(token)), tickets.issue(await stage.bearer(token))]
  expect(tickets.consume(first)).toMatchObject({ name: 'ann' })
  await stage.wait(stage.identity.sessions.endAll('default', stage.row('ann').id))
  expect(await stage.judge(() => tickets.consume(second))).toBe('unauthorized invalid or expired ticket')
})

test('a new password ends the other sessions, and a wrong one counts', async () => {
  const stage = await withAnn()
  const { accessToken } = await stage.logIn('ann', key)
  const { token } = await stage.basic('ann')
  const caller = await stage.bound(accessToken, key)
  const change = (current: string) =>
    stage.identity.logins.changePassword({ caller, current, password: 'another password', place })
  expect(await stage.refusal(change('wrong password'))).toBe('unauthorized invalid credentials')
  expect(await stage.refusal(change('correct horse'))).toBeUndefined()
  expect(await stage.bound(accessToken, key)).toMatchObject({ name: 'ann' })
  expect(await stage.judge(() => stage.bearer(token))).toBe('unauthorized session over')
  for (let count = 0; count < 9; count++) await stage.refusal(change('wrong password'))
  expect(await stage.refusal(change('another password'))).toBe('too_many_requests too many attempts')
})
