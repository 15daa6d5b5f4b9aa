import { expect, test } from 'vitest'
import { signsForMs } from '#actors/signing-keys/signing-keys'
import { IdentityFixture, lifetimes } from '#test/access/identity-fixture'

async function withToken(): Promise<{ fixture: IdentityFixture; token: string }> {
  const fixture = await IdentityFixture.withAnn()
  return { fixture, token: (await fixture.basic('ann', true)).token }
}

function kidOf(token: string): unknown {
  return JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid
}

test('a rotation ends no session, and the old key stays valid until the last of its tokens has expired', async () => {
  const { fixture, token } = await withToken()
  const { keys } = fixture.identity
  const [before] = keys.list()
  expect(kidOf(token)).toBe(before?.kid)
  expect(await fixture.refusal(keys.rotate())).toBe('conflict the last rotation is younger than a minute')
  await fixture.world.advance(60_000)
  const made = await fixture.wait(keys.rotate())
  expect(await fixture.bearer(token)).toMatchObject({ name: 'ann' })
  expect(kidOf((await fixture.basic('ann')).token)).toBe(made.kid)
  expect(keys.list()).toMatchObject([
    { kid: made.kid },
    { kid: before?.kid, retiresAt: fixture.world.now() + lifetimes.refreshMs },
  ])
  expect(keys.jwks().keys).toHaveLength(2)
  await fixture.world.advance(lifetimes.refreshMs - 1)
  expect(keys.jwks().keys).toHaveLength(2)
  await fixture.world.advance(1)
  expect(keys.jwks().keys).toMatchObject([{ kid: made.kid, alg: 'ES256', use: 'sig' }])
})

test('keys are the same after a restart', async () => {
  const { fixture, token } = await withToken()
  const listed = fixture.identity.keys.list()
  const later = await fixture.restart()
  expect(later.identity.keys.list()).toEqual(listed)
  expect(await later.bearer(token)).toMatchObject({ name: 'ann' })
})

test('a key that signed for ninety days is replaced automatically', async () => {
  const { fixture } = await withToken()
  const [before] = fixture.identity.keys.list()
  // The clock jumps in one step, because the simulation of ninety days would take long.
  fixture.world.spend(signsForMs)
  await fixture.world.advance(1)
  await fixture.world.settle()
  expect(fixture.identity.keys.list()[0]?.kid).not.toBe(before?.kid)
  expect(fixture.errors).toEqual([])
})

test('the server does not start with a key file that does not match the store', async () => {
  const { fixture } = await withToken()
  const fileKey = async () => new Uint8Array(32).fill(8)
  await expect(fixture.restart({ fileKey })).rejects.toThrow('identity.key')
})

test('a key file may be created only for a new store', async () => {
  const needed: boolean[] = []
  const fileKey = async (isNeeded: boolean) => {
    needed.push(isNeeded)
    return new Uint8Array(32).fill(7)
  }
  const fixture = await IdentityFixture.open({ settings: { fileKey } })
  await fixture.restart({ fileKey })
  expect(needed).toEqual([false, true])
})
