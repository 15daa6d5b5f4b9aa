import { describe, expect, test } from 'vitest'
import type { Pair } from '#access/requests'
import { sessionAddress } from '#actors/session/commands'
import type { Caller } from '#model/caller'
import { IdentityFixture, password, place } from '#test/access/identity-fixture'
import { makeKeyPair } from '#test/access/key-pair'
import { codeOf } from '#test/access/totp-code'

const key = makeKeyPair()

/** Ann with a session of each scheme, and a secret that was sent to her and is not activated. */
interface Ground {
  readonly stage: IdentityFixture
  readonly pair: Pair
  readonly basic: { readonly token: string; readonly refreshToken: string }
  readonly caller: Caller
  readonly secret: string
}

async function ground(): Promise<Ground> {
  const stage = await IdentityFixture.open()
  await stage.addUser('ann')
  const pair = await stage.logIn('ann', key)
  const basic = await stage.basic('ann', true)
  const caller = await stage.bound(pair.accessToken, key, 'person or proof')
  const { secret } = await stage.wait(stage.identity.secondFactors.enrollTotp({ caller, place, password }))
  await stage.world.settle()
  return { stage, pair, basic, caller, secret }
}

/** Operations with these credentials. */
const flows: Readonly<Record<string, (ground: Ground) => Promise<unknown>>> = {
  'a logout': ({ stage, caller }) => stage.identity.logins.signOut({ caller, refreshToken: undefined, isAll: false }),
  'a logout of all': ({ stage, caller }) =>
    stage.identity.logins.signOut({ caller, refreshToken: undefined, isAll: true }),
  'a refresh': ({ stage, pair }) =>
    stage.identity.logins.refresh({ refreshToken: pair.refreshToken, jkt: key.jkt, place }),
  'a refresh of the Basic scheme': ({ stage, basic }) =>
    stage.identity.logins.refreshBasic({ refreshToken: basic.refreshToken, place }),
  'another password': ({ stage, caller }) =>
    stage.identity.logins.changePassword({ caller, current: password, password: 'another password', place }),
  'a factor turned on': ({ stage, caller, secret }) =>
    stage.identity.secondFactors.activateTotp({ caller, place, code: codeOf(secret, stage.world.now()) }),
  'a wrong factor': ({ stage, caller }) => stage.identity.secondFactors.activateTotp({ caller, place, code: '000000' }),
}

/** All her stored records. */
function stored(stage: IdentityFixture) {
  const { tenant } = stage.row('ann')
  const account = stage.account('ann')
  const sessions = account.sessions.map(([id]) => stage.assembly.context.system.peek(sessionAddress(tenant, id)))
  return structuredClone({ row: stage.row('ann'), account, sessions })
}

/** The result of each of her tokens. */
async function worth({ pair, basic }: Ground, stage: IdentityFixture) {
  const bound = await stage.judge(() => stage.bound(pair.accessToken, key))
  return { bound, unbound: await stage.judge(() => stage.bearer(basic.token)) }
}

describe.each(Object.keys(flows))('%s whose write fails', (name) => {
  const flow = flows[name] as (ground: Ground) => Promise<unknown>

  test('and is lost is answered with 503, and has no effect', async () => {
    const given = await ground()
    const { stage } = given
    const before = stored(stage)
    const sockets = [stage.connect(given.caller), stage.connect(await stage.bearer(given.basic.token))]
    stage.faults.next = { fail: 'full', reachedDisk: false }
    expect(await stage.refusal(flow(given))).toBe('storage STORAGE')
    await stage.world.advance(5_000)
    expect(stored(stage)).toEqual(before)
    expect(await worth(given, stage)).toEqual({ bound: undefined, unbound: undefined })
    expect(sockets.map(({ endCode }) => endCode)).toEqual([undefined, undefined])
    expect(stored(await stage.restart())).toEqual(before)
    expect(stage.errors.filter((error) => error.startsWith('a bug'))).toEqual([])
  })

  test('and reached the disk is answered with 503, and has its full effect', async () => {
    // The expected result: the same steps without a failure.
    const smooth = await ground()
    const outcome = await smooth.stage.refusal(flow(smooth))
    expect([undefined, 'unauthorized invalid code']).toContain(outcome)
    await smooth.stage.world.settle()

    const given = await ground()
    const { stage } = given
    const sockets = [stage.connect(given.caller), stage.connect(await stage.bearer(given.basic.token))]
    stage.faults.next = { fail: 'full', reachedDisk: true }
    expect(await stage.refusal(flow(given))).toBe('storage STORAGE')
    await stage.world.advance(5_000)
    expect(stored(stage)).toEqual(stored(smooth.stage))
    const { bound, unbound } = await worth(given, stage)
    expect({ bound, unbound }).toEqual(await worth(smooth, smooth.stage))
    // Sockets of an ended session were closed when the store was read again.
    const ended = [bound, unbound].map((refusal) => (refusal === undefined ? undefined : 4401))
    expect(sockets.map(({ endCode }) => endCode)).toEqual(ended)
    expect(stored(await stage.restart())).toEqual(stored(smooth.stage))
    expect(stage.errors.filter((error) => error.startsWith('a bug'))).toEqual([])
  })
})

test('a stored refresh whose answer was lost is answered with the same successor', async () => {
  const given = await ground()
  const { stage, pair } = given
  stage.faults.next = { fail: 'full', reachedDisk: true }
  expect(await stage.refusal((flows['a refresh'] as (ground: Ground) => Promise<unknown>)(given))).toBe(
    'storage STORAGE',
  )
  await stage.world.advance(5_000)
  const again = { refreshToken: pair.refreshToken, jkt: key.jkt, place }
  const next = await stage.wait(stage.identity.logins.refresh(again))
  expect(next.refreshToken).not.toBe(pair.refreshToken)
  const further = { ...again, refreshToken: next.refreshToken }
  expect(await stage.refusal(stage.identity.logins.refresh(further))).toBeUndefined()
})

test('two refreshes at the same time give one successor for DPoP, and end a Basic session', async () => {
  const { stage, pair, basic } = await ground()
  const { logins } = stage.identity
  const bound = { refreshToken: pair.refreshToken, jkt: key.jkt, place }
  const both = await stage.wait(Promise.all([logins.refresh(bound), logins.refresh(bound)]))
  expect(both[0].refreshToken).toBe(both[1].refreshToken)
  for (const { accessToken } of both) expect(await stage.bound(accessToken, key)).toMatchObject({ name: 'ann' })

  const unbound = { refreshToken: basic.refreshToken, place }
  const [first, second] = await stage.wait(
    Promise.allSettled([logins.refreshBasic(unbound), logins.refreshBasic(unbound)]),
  )
  // One of the two may be a thief, and the server cannot know which.
  expect([first?.status, second?.status]).toEqual(['fulfilled', 'rejected'])
  expect(await stage.judge(() => stage.bearer(basic.token))).toBe('unauthorized session over')
})
