import { expect, test } from 'vitest'
import { accountAddress } from '#actors/account/state'
import { sessionsOf } from '#routes/sessions'
import { IdentityFixture, lifetimes, origin } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'

const key = makeKeyPair()

test.each([false, true])(
  'signing out ends the session and its sockets (all sessions of the user: %s)',
  async (isAll) => {
    const fixture = await IdentityFixture.withAnn()
    const { accessToken } = await fixture.logIn('ann', key)
    const { token } = await fixture.basic('ann')
    const caller = await fixture.bound(accessToken, key)
    const [ownSocket, otherSocket] = [fixture.connect(caller), fixture.connect(await fixture.bearer(token))]
    await fixture.wait(fixture.identity.logins.signOut({ caller, isAll, origin }))
    await fixture.world.settle()
    expect(await fixture.judge(() => fixture.bound(accessToken, key))).toBe('unauthorized session over')
    expect(ownSocket.endCode).toBe(4401)
    expect(caller.isCurrent()).toBe(false)
    expect(await fixture.judge(() => fixture.bearer(token))).toBe(isAll ? 'unauthorized session over' : undefined)
    expect(otherSocket.endCode).toBe(isAll ? 4401 : undefined)
  },
)

test('a client can sign out with a refresh token and its key, without an access token', async () => {
  const fixture = await IdentityFixture.withAnn()
  const { accessToken, refreshToken } = await fixture.logIn('ann', key)
  const signOut = async (jkt: string | undefined, shown: string | undefined) => {
    const caller = { ...(await fixture.caller({ method: 'POST', headers: { dpop: proofOf(fixture) } }, 'proof')) }
    const { jkt: _, ...withoutKey } = caller
    return fixture.identity.logins.signOut({
      caller: jkt === undefined ? withoutKey : { ...withoutKey, jkt },
      refreshToken: shown,
      isAll: false,
      origin,
    })
  }
  expect(await fixture.refusal(signOut(key.jkt, undefined))).toBe('invalid Validation Error')
  expect(await fixture.refusal(signOut(key.jkt, 'nonsense'))).toBe('unauthorized invalid refresh token')
  expect(await fixture.refusal(signOut(makeKeyPair().jkt, refreshToken))).toBe('unauthorized key mismatch')
  expect(await fixture.bound(accessToken, key)).toMatchObject({ name: 'ann' })
  expect(await fixture.refusal(signOut(key.jkt, refreshToken))).toBeUndefined()
  expect(await fixture.judge(() => fixture.bound(accessToken, key))).toBe('unauthorized session over')
})

function proofOf(fixture: IdentityFixture): string {
  return fixture.proof(key, { method: 'POST' })
}

test('sessions are listed, the latest one first, and can be ended one by one', async () => {
  const fixture = await IdentityFixture.withAnn()
  const { id } = fixture.row('ann')
  const { accessToken } = await fixture.logIn('ann', key)
  await fixture.world.advance(90_000)
  const { token } = await fixture.basic('ann')
  const current = (await fixture.bound(accessToken, key)).session?.id ?? ''
  await fixture.world.settle()
  const { context } = fixture.assembly
  const end = (only?: string) =>
    context.system.ask(accountAddress('default', id), { type: 'end_sessions', ...(only !== undefined && { only }) })
  const listed = await fixture.wait(sessionsOf(context, 'default', id, current))
  expect(listed).toMatchObject([
    { scheme: 'basic', isCurrent: false, address: '192.0.2.1', agent: 'a test' },
    { scheme: 'dpop', isCurrent: true, id: current },
  ])
  expect((listed[1]?.lastUsedAt ?? 0) - (listed[1]?.createdAt ?? 0)).toBe(90_000)
  await fixture.wait(end(listed[0]?.id))
  expect(await fixture.judge(() => fixture.bearer(token))).toBe('unauthorized session over')
  expect(await fixture.refusal(end('unknown111'))).toBe('not_found Not Found')
  await fixture.wait(end())
  expect(await fixture.wait(sessionsOf(context, 'default', id))).toEqual([])
})

test('sockets close in the same millisecond in which their session expires', async () => {
  const fixture = await IdentityFixture.withAnn()
  const { token } = await fixture.basic('ann')
  const socket = fixture.connect(await fixture.bearer(token))
  await fixture.world.advance(lifetimes.tokenMs - 1)
  await fixture.world.settle()
  expect(socket.endCode).toBeUndefined()
  await fixture.world.advance(1)
  await fixture.world.settle()
  expect(socket.endCode).toBe(4401)
})

test('the use of a session is stored once a minute, with the address of this request', async () => {
  const fixture = await IdentityFixture.withAnn()
  const { token } = await fixture.basic('ann')
  const listSessions = () => sessionsOf(fixture.assembly.context, 'default', fixture.row('ann').id)
  const use = (address: string) => fixture.caller({ headers: { authorization: `Bearer ${token}` }, address })
  await fixture.world.advance(59_999)
  await use('192.0.2.2')
  expect(await fixture.wait(listSessions())).toMatchObject([{ address: '192.0.2.1' }])
  await fixture.world.advance(1)
  // A closed connection has no address.
  await use('')
  await use('192.0.2.3')
  await use('192.0.2.4')
  expect(await fixture.wait(listSessions())).toMatchObject([{ address: '192.0.2.3' }])
})

test('a socket that opens just after its session ended is closed, and receives nothing', async () => {
  const fixture = await IdentityFixture.withAnn()
  const { accessToken } = await fixture.logIn('ann', key)
  const caller = await fixture.bound(accessToken, key)
  await fixture.wait(fixture.identity.logins.signOut({ caller, isAll: true, origin }))
  const socket = fixture.connect(caller)
  await fixture.world.settle()
  expect(socket).toMatchObject({ endCode: 4401, received: [] })
  expect(fixture.identity.sockets.size).toBe(0)
})

test('a change of the password ends the other sessions, and wrong current passwords are limited', async () => {
  const fixture = await IdentityFixture.withAnn()
  const { accessToken } = await fixture.logIn('ann', key)
  const { token } = await fixture.basic('ann')
  const caller = await fixture.bound(accessToken, key)
  const change = (current: string) =>
    fixture.identity.logins.changePassword({ caller, current, password: 'another password', origin })
  expect(await fixture.refusal(change('wrong password'))).toBe('unauthorized invalid credentials')
  expect(await fixture.refusal(change('correct horse'))).toBeUndefined()
  expect(await fixture.bound(accessToken, key)).toMatchObject({ name: 'ann' })
  expect(await fixture.judge(() => fixture.bearer(token))).toBe('unauthorized session over')
  for (let count = 0; count < 9; count++) await fixture.refusal(change('wrong password'))
  expect(await fixture.refusal(change('another password'))).toBe('too_many_requests too many attempts')
})
