import { beforeEach, describe, expect, test } from 'vitest'
import { addWrongFactor, credentialsMax, factorDelayMs, wrongFactorsMax } from '#actors/account/factors'
import type { AccountCommand, WrongFactors } from '#actors/account/state'
import { ActingAccount, hash } from '#test/actors/acting-account'
import { now, outcomeOf, sentCommandsOf } from '#test/actors/acting-actor'

const wrong = 'unauthorized: invalid code'
const dayMs = 86_400_000

function publishedFactors(decision: ReturnType<ActingAccount['act']>): unknown {
  if (decision.type !== 'record') return decision.type
  const commands = (decision.tells ?? []).map(({ command }) => command as { type: string; factors?: unknown })
  return commands.find(({ type }) => type === 'factors_changed')?.factors
}

let account: ActingAccount
beforeEach(() => {
  account = ActingAccount.signedUp()
})

function remove(type: 'remove_totp' | 'remove_webauthn', id = '', isRequired = false) {
  return account.act({ type, id, version: account.version, keep: undefined, isRequired } as AccountCommand)
}

describe('TOTP', () => {
  test('ends other sessions, notifies the directory and increases the version when it is turned on', () => {
    for (const id of ['S1', 'S2']) account.begin(id)
    const decision = account.setTotp({ keep: 'S2' })
    expect(outcomeOf(decision)).toEqual({ version: 2 })
    expect(sentCommandsOf(decision)).toEqual(['session/t/S1 end', 'directory/default/directory factors_changed'])
    expect(publishedFactors(decision)).toEqual(['totp'])
    expect(account.sessionIds).toEqual(['S2'])
    expect(account.state.factors).toEqual({
      totp: { secret: new Uint8Array(60).fill(5), step: 100 },
      recovery: [hash(201), hash(202)],
      webauthn: [],
      wrong: null,
    })
  })

  test('can get another secret with new recovery codes, and sends no notice then', () => {
    account.setTotp()
    const decision = account.setTotp({ step: 500, recovery: [hash(210)] })
    expect(publishedFactors(decision)).toBeUndefined()
    expect(account.state.factors).toMatchObject({ totp: { step: 500 }, recovery: [hash(210)] })
  })

  test('accepts one code of each step, only in order, and no code when it is off', () => {
    const used = (step: number) => outcomeOf(account.act({ type: 'use_totp', step })) ?? step
    expect(used(1)).toBe(wrong)
    account.setTotp()
    const accepted = [99, 100, 101, 101, 105, 104, 106].map(used)
    expect(accepted).toEqual([wrong, wrong, 101, wrong, 105, wrong, 106])
  })

  test('can be turned off, and the recovery codes are deleted with the last factor', () => {
    account.setTotp()
    account.begin('S1')
    const decision = remove('remove_totp')
    expect(publishedFactors(decision)).toEqual([])
    expect(sentCommandsOf(decision)).toContain('session/t/S1 end')
    expect(account.records.has('factors')).toBe(false)
    expect(outcomeOf(remove('remove_totp'))).toBe('not_found: Not Found')
  })
})

test('a recovery code is valid once, and the others stay valid', () => {
  account.setTotp()
  const used = (code: number) => account.act({ type: 'use_recovery', hash: hash(code) })
  expect(used(201).type).toBe('record')
  expect([outcomeOf(used(201)), outcomeOf(used(77))]).toEqual([wrong, wrong])
  expect(account.state.factors.recovery).toEqual([hash(202)])
  expect(used(202).type).toBe('record')
  expect(account.state.factors.totp).not.toBeNull()
})

describe('WebAuthn', () => {
  test('sets recovery codes with the first factor, and further factors keep these codes', () => {
    expect(publishedFactors(account.addWebauthn('C1', {}, [hash(220)]))).toEqual(['webauthn'])
    expect(publishedFactors(account.addWebauthn('C2'))).toBeUndefined()
    expect(account.state.factors.recovery).toEqual([hash(220)])
    expect(account.state.factors.webauthn.map(({ id }) => id)).toEqual(['C1', 'C2'])
  })

  test('is reported together with TOTP', () => {
    account.setTotp()
    expect(publishedFactors(account.addWebauthn('C1'))).toEqual(['totp', 'webauthn'])
  })

  test('accepts each credential once, and a limited number of credentials', () => {
    for (let index = 0; index < credentialsMax - 1; index++) account.addWebauthn(`C${index}`)
    expect(outcomeOf(account.addWebauthn('C3'))).toBe('conflict: the credential is registered')
    expect(account.addWebauthn('C9').type).toBe('record')
    expect(outcomeOf(account.addWebauthn('C10'))).toBe('conflict: a user has at most 10 credentials')
  })

  test.each([
    [0, 0, 0],
    [0, 7, 7],
    [7, 8, 8],
    [7, 7, wrong],
    [7, 6, wrong],
    // An authenticator without a counter sends 0. The stored counter does not change.
    [7, 0, 7],
  ])('with stored counter %i and counter %i in the answer gives %s', (stored, counter, outcome) => {
    account.addWebauthn('C1', { counter: stored })
    account.addWebauthn('C2')
    account.at += 5
    expect(outcomeOf(account.act({ type: 'use_webauthn', id: 'C3', counter: 9 }))).toBe(wrong)
    const decision = account.act({ type: 'use_webauthn', id: 'C1', counter })
    const [used, other] = account.state.factors.webauthn
    if (outcome === wrong) {
      expect(outcomeOf(decision)).toBe(wrong)
      expect(used).toMatchObject({ counter: stored, lastUsedAt: null })
    } else expect(used).toMatchObject({ counter: outcome, lastUsedAt: now + 5 })
    expect(other).toMatchObject({ counter: 0, lastUsedAt: null })
  })

  test('is turned off with the last credential', () => {
    account.addWebauthn('C1', {}, [hash(1)])
    account.addWebauthn('C2')
    expect(outcomeOf(remove('remove_webauthn', 'C3'))).toBe('not_found: Not Found')
    expect(publishedFactors(remove('remove_webauthn', 'C1'))).toBeUndefined()
    expect(account.state.factors.recovery).toHaveLength(1)
    expect(publishedFactors(remove('remove_webauthn', 'C2'))).toEqual([])
    expect(account.records.has('factors')).toBe(false)
  })
})

test('the last factor of a user cannot be removed in a tenant that requires a second factor', () => {
  const required = 'conflict: the tenant requires a second factor'
  account.setTotp()
  expect(outcomeOf(remove('remove_totp', '', true))).toBe(required)
  account.addWebauthn('C1')
  expect(remove('remove_totp', '', true).type).toBe('record')
  expect(outcomeOf(remove('remove_webauthn', 'C1', true))).toBe(required)
  account.addWebauthn('C2')
  expect(remove('remove_webauthn', 'C1', true).type).toBe('record')
  expect(outcomeOf(remove('remove_webauthn', 'C2', true))).toBe(required)
  expect(remove('remove_webauthn', 'C2').type).toBe('record')
})

test.each<[string, (version: number) => AccountCommand]>([
  ['set_totp', (version) => ({ type: 'set_totp', version, secret: hash(1), step: 1, recovery: [], keep: undefined })],
  ['remove_totp', (version) => ({ type: 'remove_totp', version, keep: undefined, isRequired: false })],
  [
    'remove_webauthn',
    (version) => ({ type: 'remove_webauthn', version, id: 'C1', keep: undefined, isRequired: false }),
  ],
])('the command %s is refused if the account changed meanwhile', (_, commandOf) => {
  account.setTotp()
  account.addWebauthn('C1')
  const { version } = account
  account.act({ type: 'set_password', version, passwordHash: 'x', keep: undefined })
  expect(outcomeOf(account.act(commandOf(version)))).toBe('conflict: the account was changed meanwhile')
})

describe('wrong factors', () => {
  /** The state after this many wrong codes at one time. */
  function wrongTimes(count: number, at = now): WrongFactors | null {
    let counted: WrongFactors | null = null
    for (let index = 0; index < count; index++) counted = addWrongFactor(counted, at)
    return counted
  }

  const delaysS = { 0: 0, 1: 0, 2: 0, 3: 1, 4: 2, 5: 4, 6: 8, 12: 512, 13: 900, 14: 900, [wrongFactorsMax - 1]: 900 }
  const lockedDelaysS = { [wrongFactorsMax]: dayMs / 1_000, [wrongFactorsMax + 1]: dayMs / 1_000 }
  test.each(Object.entries({ ...delaysS, ...lockedDelaysS }))(
    'delay the attempt after %s of them by %i s',
    (count, delayS) => {
      const counted = wrongTimes(Number(count))
      expect(factorDelayMs(counted, now)).toBe(delayS * 1_000)
      if (delayS === 0) return
      expect(factorDelayMs(counted, now + delayS * 1_000 - 1)).toBe(1)
      expect(factorDelayMs(counted, now + delayS * 1_000)).toBe(0)
    },
  )

  test('are counted until a day after the first one', () => {
    const first = addWrongFactor(null, now)
    const last = addWrongFactor(addWrongFactor(first, now + 5), now + dayMs - 100)
    expect(last).toEqual({ since: now, count: 3, last: now + dayMs - 100 })
    // The delay ends with the day at the latest.
    expect(factorDelayMs(last, now + dayMs - 100)).toBe(100)
    expect(factorDelayMs(last, now + dayMs)).toBe(0)
    expect(addWrongFactor(last, now + dayMs - 1)).toMatchObject({ count: 4 })
    expect(addWrongFactor(last, now + dayMs)).toEqual({ since: now + dayMs, count: 1, last: now + dayMs })
  })

  test.each<[string, AccountCommand]>([
    ['a code', { type: 'use_totp', step: 200 }],
    ['a recovery code', { type: 'use_recovery', hash: hash(201) }],
    ['a credential', { type: 'use_webauthn', id: 'C1', counter: 9 }],
  ])('delay %s, even if it is correct', (_, command) => {
    account.setTotp()
    account.addWebauthn('C1')
    for (let count = 0; count < 5; count++) account.act({ type: 'factor_failed' })
    account.at += 3_999
    const early = account.act(command)
    expect(early).toMatchObject({ problem: { code: 'too_many_requests', headers: { 'Retry-After': '1' } } })
    account.at += 1
    expect(account.act(command).type).toBe('record')
    // A correct code does not reset the count.
    expect(account.state.factors.wrong).toMatchObject({ count: 5 })
  })

  test('lock the account until the day is over', () => {
    account.setTotp()
    for (let count = 0; count < 20; count++) {
      account.at += 1_000_000
      expect(account.act({ type: 'use_totp', step: 1 }), `attempt ${count + 1}`).toMatchObject({
        problem: { code: 'unauthorized' },
      })
      account.act({ type: 'factor_failed' })
    }
    account.at = now + 1_000_000 + dayMs - 1
    expect(account.act({ type: 'use_totp', step: 200 })).toMatchObject({
      problem: { code: 'too_many_requests', headers: { 'Retry-After': '1' } },
    })
    account.at += 1
    expect(account.act({ type: 'use_totp', step: 200 }).type).toBe('record')
  })
})
