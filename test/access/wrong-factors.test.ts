import { expect, test } from 'vitest'
import { Problem } from '#model/problem'
import { IdentityStage, password, place } from '#test/access/identity-stage'
import { makeKeyPair } from '#test/access/key-pair'
import { codeOf } from '#test/access/totp-code'

const key = makeKeyPair()
const dayS = 86_400

/** Seconds that each wrong one makes wait. Contract 2: 20 a day, with growing delay. */
const delays = [0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900, 900, 900, 900]

async function withTotp(): Promise<{ stage: IdentityStage; secret: string }> {
  const stage = await IdentityStage.open()
  await stage.addUser('ann')
  const { accessToken } = await stage.logIn('ann', key)
  const caller = await stage.bound(accessToken, key, 'person or proof')
  const { secret } = await stage.wait(stage.identity.secondFactors.enrollTotp({ caller, place, password }))
  const code = codeOf(secret, stage.world.now())
  await stage.wait(stage.identity.secondFactors.activateTotp({ caller, place, code }))
  return { stage, secret }
}

/** By a login of its own, from an address of its own: what is counted is the account's. */
async function use(stage: IdentityStage, code: string, index: number): Promise<string | number | undefined> {
  const from = { ...place, address: `192.0.2.${index}` }
  const outcome = await stage.wait(stage.identity.logins.logIn(stage.loginOf('ann', key, { place: from })))
  if (outcome.type !== 'second_factor') throw new Error(`a ${outcome.type}`)
  const caller = await stage.caller(
    { method: 'POST', headers: { dpop: stage.proof(key, { method: 'POST' }) } },
    'proof',
  )
  try {
    await stage.wait(stage.identity.secondFactors.useTotp({ caller, token: outcome.token, code, place: from }))
    return undefined
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    // What is to be waited for, or what was wrong.
    return error.code === 'too_many_requests' ? Number(error.headers?.['Retry-After']) : error.message
  }
}

test('each wrong factor makes wait longer, whoever shows it from wherever; the twentieth ends the day', async () => {
  const { stage, secret } = await withTotp()
  const begun = stage.world.now()
  const right = () => codeOf(secret, stage.world.now())
  for (const [index, delayS] of delays.entries()) {
    expect(await use(stage, '000000', index), `wrong ${index + 1}`).toBe('invalid code')
    if (delayS === 0) continue
    // The right one too, at once and a moment before.
    expect(await use(stage, right(), index), `after wrong ${index + 1}`).toBe(delayS)
    await stage.world.advance(delayS * 1_000 - 1)
    expect(await use(stage, right(), index)).toBe(1)
    await stage.world.advance(1)
  }
  expect(await use(stage, '000000', 20)).toBe('invalid code')
  const dayEndsInS = () => Math.ceil((begun + dayS * 1_000 - stage.world.now()) / 1_000)
  expect(await use(stage, right(), 20)).toBe(dayEndsInS())
  await stage.world.advance(12 * 3_600_000)
  expect(await use(stage, right(), 20)).toBe(dayEndsInS())
  // It is as it was after a start.
  const later = await stage.restart()
  expect(await use(later, right(), 20)).toBe(dayEndsInS())
  await later.world.advance(begun + dayS * 1_000 - later.world.now() - 1)
  expect(await use(later, right(), 20)).toBe(1)
  await later.world.advance(1)
  expect(await use(later, '000000', 20)).toBe('invalid code')
  expect(await use(later, right(), 20)).toBeUndefined()
})

test('of many at the same moment no more are looked at than one after the other', async () => {
  const { stage } = await withTotp()
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const login = stage.loginOf('ann', key, { place: { ...place, address: `192.0.2.${index}` } })
      const outcome = await stage.wait(stage.identity.logins.logIn(login))
      if (outcome.type !== 'second_factor') throw new Error(`a ${outcome.type}`)
      const caller = await stage.caller(
        { method: 'POST', headers: { dpop: stage.proof(key, { method: 'POST' }) } },
        'proof',
      )
      return { caller, token: outcome.token, place: login.place }
    }),
  )
  const uses = outcomes.map((shown, index) =>
    stage.identity.secondFactors.useTotp({ ...shown, code: String(index).padStart(6, '0') }),
  )
  const settled = await stage.wait(Promise.allSettled(uses))
  const messages = settled.map((one) => (one.status === 'rejected' ? (one.reason as Problem).code : 'taken'))
  expect(messages.filter((code) => code === 'unauthorized')).toHaveLength(3)
  expect(messages.filter((code) => code === 'too_many_requests')).toHaveLength(17)
})
