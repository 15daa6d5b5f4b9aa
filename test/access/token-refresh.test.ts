import { expect, test } from 'vitest'
import type { TokenPair } from '#api/sign-in'
import { IdentityFixture, lifetimes, origin } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'

const key = makeKeyPair()
const wrong = 'unauthorized invalid refresh token'

async function withAnn(): Promise<{ fixture: IdentityFixture; pair: TokenPair }> {
  const fixture = await IdentityFixture.withAnn()
  return { fixture, pair: await fixture.logIn('ann', key) }
}

function refresh(fixture: IdentityFixture, refreshToken: string, more: { jkt?: string; host?: string } = {}) {
  const { jkt = key.jkt, host = origin.host } = more
  return fixture.identity.logins.refresh({ refreshToken, jkt, origin: { ...origin, host } })
}

const replaced = 'unauthorized token replaced'

test('after a refresh the old access token is accepted for ten seconds, and sockets stay open', async () => {
  const { fixture, pair } = await withAnn()
  const socket = fixture.connect(await fixture.bound(pair.accessToken, key))
  const next = await fixture.wait(refresh(fixture, pair.refreshToken))
  expect(next.refreshToken).not.toBe(pair.refreshToken)
  await fixture.world.advance(10_000)
  expect(await fixture.bound(next.accessToken, key)).toMatchObject({ name: 'ann' })
  expect(await fixture.bound(pair.accessToken, key)).toMatchObject({ name: 'ann' })
  await fixture.world.advance(1)
  expect(await fixture.judge(() => fixture.bound(pair.accessToken, key))).toBe(replaced)
  expect(socket.endCode).toBeUndefined()
  const later = await fixture.restart()
  expect(await later.judge(() => later.bound(pair.accessToken, key))).toBe(replaced)
  await later.world.advance(lifetimes.accessMs - 20_000)
  expect(await later.bound(next.accessToken, key)).toMatchObject({ name: 'ann' })
})

test('each token that is replaced stays valid for ten seconds, also if refreshes follow each other', async () => {
  const { fixture, pair: first } = await withAnn()
  const second = await fixture.wait(refresh(fixture, first.refreshToken))
  await fixture.world.advance(6_000)
  const third = await fixture.wait(refresh(fixture, second.refreshToken))
  const verdicts = () =>
    Promise.all([first, second, third].map(({ accessToken }) => fixture.judge(() => fixture.bound(accessToken, key))))
  expect(await verdicts()).toEqual([undefined, undefined, undefined])
  await fixture.world.advance(4_001)
  expect(await verdicts()).toEqual([replaced, undefined, undefined])
  await fixture.world.advance(6_000)
  expect(await verdicts()).toEqual([replaced, replaced, undefined])
})

test('a refresh of the Basic scheme replaces the token too; a token without a refresh token is never replaced', async () => {
  const fixture = await IdentityFixture.withAnn()
  const [alone, offline] = [await fixture.basic('ann'), await fixture.basic('ann', true)]
  const { token } = await fixture.wait(
    fixture.identity.logins.refreshBasic({ refreshToken: offline.refreshToken, origin }),
  )
  await fixture.world.advance(10_001)
  const refusalOf = (text: string) => fixture.judge(() => fixture.bearer(text))
  const verdicts = await Promise.all([alone.token, offline.token, token].map(refusalOf))
  expect(verdicts).toEqual([undefined, replaced, undefined])
})

test('a refresh with another key is refused, and the refresh token stays valid', async () => {
  const { fixture, pair } = await withAnn()
  const stolen = refresh(fixture, pair.refreshToken, { jkt: makeKeyPair().jkt })
  expect(await fixture.refusal(stolen)).toBe('unauthorized key mismatch')
  expect(await fixture.refusal(refresh(fixture, pair.refreshToken))).toBeUndefined()
})

test('a session without a second factor is not renewed once the tenant requires one', async () => {
  const { fixture, pair } = await withAnn()
  await fixture.directory({ type: 'update_tenant', tenant: 'default', change: { twoFactor: 'required' } })
  expect(await fixture.refusal(refresh(fixture, pair.refreshToken))).toBe(wrong)
  expect(await fixture.bound(pair.accessToken, key)).toMatchObject({ name: 'ann' })
  await fixture.directory({ type: 'update_tenant', tenant: 'default', change: { twoFactor: 'optional' } })
  expect(await fixture.refusal(refresh(fixture, pair.refreshToken))).toBeUndefined()
})

test('a refresh token is refused if it is forged, of another session, or sent to a host of no or another tenant', async () => {
  const { fixture, pair } = await withAnn()
  const [tenant, session, , mac] = pair.refreshToken.split('.')
  const other = await fixture.logIn('ann', key)
  const [, , , otherMac] = other.refreshToken.split('.')
  for (const text of [
    '',
    'a.b.c.d',
    `${tenant}.${session}.2.${mac}`,
    `${tenant}.${session}.1.${otherMac}`,
    `other.${session}.1.${mac}`,
    pair.accessToken,
  ]) {
    expect(await fixture.refusal(refresh(fixture, text)), text).toBe(wrong)
  }
  await fixture.directory({ type: 'update_tenant', tenant: 'default', change: { hosts: ['acme.example'] } })
  expect(await fixture.refusal(refresh(fixture, pair.refreshToken))).toBe(wrong)
  expect(await fixture.refusal(refresh(fixture, pair.refreshToken, { host: 'acme.example' }))).toBeUndefined()
})
