import { expect, test } from 'vitest'
import { signsForMs } from '#actors/signing-keys/signing-keys'
import { IdentityFixture, lifetimes } from '#test/access/identity-fixture'

async function withToken(): Promise<{ stage: IdentityFixture; token: string }> {
  const stage = await IdentityFixture.open()
  await stage.addUser('ann')
  return { stage, token: (await stage.basic('ann', true)).token }
}

function kidOf(token: string): unknown {
  return JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid
}

test('a rotation ends no session, and the old key stays valid while one of its tokens may be', async () => {
  const { stage, token } = await withToken()
  const { keys } = stage.identity
  const [before] = keys.list()
  expect(kidOf(token)).toBe(before?.kid)
  expect(await stage.refusal(keys.rotate())).toBe('conflict the last rotation is younger than a minute')
  await stage.world.advance(60_000)
  const made = await stage.wait(keys.rotate())
  expect(await stage.bearer(token)).toMatchObject({ name: 'ann' })
  expect(kidOf((await stage.basic('ann')).token)).toBe(made.kid)
  expect(keys.list()).toMatchObject([
    { kid: made.kid },
    { kid: before?.kid, retiresAt: stage.world.now() + lifetimes.refreshMs },
  ])
  expect(keys.jwks().keys).toHaveLength(2)
  await stage.world.advance(lifetimes.refreshMs - 1)
  expect(keys.jwks().keys).toHaveLength(2)
  await stage.world.advance(1)
  expect(keys.jwks().keys).toMatchObject([{ kid: made.kid, alg: 'ES256', use: 'sig' }])
})

test('keys are the same after a restart', async () => {
  const { stage, token } = await withToken()
  const listed = stage.identity.keys.list()
  const later = await stage.restart()
  expect(later.identity.keys.list()).toEqual(listed)
  expect(await later.bearer(token)).toMatchObject({ name: 'ann' })
})

test('a key that signed for ninety days is replaced automatically', async () => {
  const { stage } = await withToken()
  const [before] = stage.identity.keys.list()
  // In one step: as many days in steps would take as long.
  stage.world.spend(signsForMs)
  await stage.world.advance(1)
  await stage.world.settle()
  expect(stage.identity.keys.list()[0]?.kid).not.toBe(before?.kid)
  expect(stage.errors).toEqual([])
})

test('a key file that differs from that of the store stops the start', async () => {
  const { stage } = await withToken()
  const fileKey = async () => new Uint8Array(32).fill(8)
  await expect(stage.restart({ fileKey })).rejects.toThrow('identity.key')
})

test('the store decides whether a key file may be created', async () => {
  const asked: boolean[] = []
  const fileKey = async (isNeeded: boolean) => {
    asked.push(isNeeded)
    return new Uint8Array(32).fill(7)
  }
  const stage = await IdentityFixture.open({ settings: { fileKey } })
  await stage.restart({ fileKey })
  expect(asked).toEqual([false, true])
})

test('a published key has no private part', async () => {
  const { stage } = await withToken()
  expect(JSON.stringify(stage.identity.keys.jwks())).not.toContain('"d"')
})
