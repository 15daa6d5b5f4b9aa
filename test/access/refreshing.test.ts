import { expect, test } from 'vitest'
import type { Pair } from '#access/requests'
import { IdentityFixture, lifetimes, place } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'

const key = makeKeyPair()
const wrong = 'unauthorized invalid refresh token'

async function withAnn(): Promise<{ stage: IdentityFixture; pair: Pair }> {
  const stage = await IdentityFixture.open()
  await stage.addUser('ann')
  return { stage, pair: await stage.logIn('ann', key) }
}

function refresh(stage: IdentityFixture, refreshToken: string, more: { jkt?: string; host?: string } = {}) {
  const { jkt = key.jkt, host = place.host } = more
  return stage.identity.logins.refresh({ refreshToken, jkt, place: { ...place, host } })
}

const replaced = 'unauthorized token replaced'

test('after a refresh the old access token is accepted for ten seconds, and its sockets stay open', async () => {
  const { stage, pair } = await withAnn()
  const socket = stage.connect(await stage.bound(pair.accessToken, key))
  const next = await stage.wait(refresh(stage, pair.refreshToken))
  expect(next.refreshToken).not.toBe(pair.refreshToken)
  await stage.world.advance(10_000)
  expect(await stage.bound(next.accessToken, key)).toMatchObject({ name: 'ann' })
  expect(await stage.bound(pair.accessToken, key)).toMatchObject({ name: 'ann' })
  await stage.world.advance(1)
  expect(await stage.judge(() => stage.bound(pair.accessToken, key))).toBe(replaced)
  expect(socket.endCode).toBeUndefined()
  const later = await stage.restart()
  expect(await later.judge(() => later.bound(pair.accessToken, key))).toBe(replaced)
  await later.world.advance(lifetimes.accessMs - 20_000)
  expect(await later.bound(next.accessToken, key)).toMatchObject({ name: 'ann' })
})

test('each of several refreshes within ten seconds leaves the replaced token its own ten seconds', async () => {
  const { stage, pair: first } = await withAnn()
  const second = await stage.wait(refresh(stage, first.refreshToken))
  await stage.world.advance(6_000)
  const third = await stage.wait(refresh(stage, second.refreshToken))
  const verdicts = () =>
    Promise.all([first, second, third].map(({ accessToken }) => stage.judge(() => stage.bound(accessToken, key))))
  expect(await verdicts()).toEqual([undefined, undefined, undefined])
  await stage.world.advance(4_001)
  expect(await verdicts()).toEqual([replaced, undefined, undefined])
  await stage.world.advance(6_000)
  expect(await verdicts()).toEqual([replaced, replaced, undefined])
})

test('the same holds for the Basic scheme; a token without a refresh token is never replaced', async () => {
  const stage = await IdentityFixture.open()
  await stage.addUser('ann')
  const [alone, offline] = [await stage.basic('ann'), await stage.basic('ann', true)]
  const { token } = await stage.wait(stage.identity.logins.refreshBasic({ refreshToken: offline.refreshToken, place }))
  await stage.world.advance(10_001)
  const look = (text: string) => stage.judge(() => stage.bearer(text))
  const verdicts = await Promise.all([alone.token, offline.token, token].map(look))
  expect(verdicts).toEqual([undefined, replaced, undefined])
})

test('another key is refused, and uses up nothing', async () => {
  const { stage, pair } = await withAnn()
  const stolen = refresh(stage, pair.refreshToken, { jkt: makeKeyPair().jkt })
  expect(await stage.refusal(stolen)).toBe('unauthorized key mismatch')
  expect(await stage.refusal(refresh(stage, pair.refreshToken))).toBeUndefined()
})

test('a session without a second factor is not renewed once the tenant requires one', async () => {
  const { stage, pair } = await withAnn()
  await stage.directory({ type: 'update_tenant', tenant: 'default', change: { twoFactor: 'required' } })
  expect(await stage.refusal(refresh(stage, pair.refreshToken))).toBe(wrong)
  expect(await stage.bound(pair.accessToken, key)).toMatchObject({ name: 'ann' })
  await stage.directory({ type: 'update_tenant', tenant: 'default', change: { twoFactor: 'optional' } })
  expect(await stage.refusal(refresh(stage, pair.refreshToken))).toBeUndefined()
})

test('a refresh token that is forged, of another session, or under a host of another tenant is refused', async () => {
  const { stage, pair } = await withAnn()
  const [tenant, session, , mac] = pair.refreshToken.split('.')
  const other = await stage.logIn('ann', key)
  const [, , , otherMac] = other.refreshToken.split('.')
  for (const text of [
    '',
    'a.b.c.d',
    `${tenant}.${session}.2.${mac}`,
    `${tenant}.${session}.1.${otherMac}`,
    `other.${session}.1.${mac}`,
    pair.accessToken,
  ]) {
    expect(await stage.refusal(refresh(stage, text)), text).toBe(wrong)
  }
  await stage.directory({ type: 'update_tenant', tenant: 'default', change: { hosts: ['acme.example'] } })
  expect(await stage.refusal(refresh(stage, pair.refreshToken))).toBe(wrong)
  expect(await stage.refusal(refresh(stage, pair.refreshToken, { host: 'acme.example' }))).toBeUndefined()
})
