import { describe, expect, test } from 'vitest'
import type { AccountCommand } from '#actors/account/commands'
import { codeOf } from '#actors/account/credentials'
import { sessionsMax } from '#actors/account/sessions'
import { ActingAccount, begunSession, code, codeLifetimeMs, credential, hash } from '#test/actors/acting-account'
import { now, outcomeOf, toldOf } from '#test/actors/acting-actor'

/** Runs these commands on an account. */
const did =
  (...commands: readonly AccountCommand[]) =>
  (account: ActingAccount) => {
    for (const command of commands) account.act(command)
  }

const badCode = 'unauthorized: invalid or expired code'

describe('a code', () => {
  test('makes an account of an invitation', () => {
    const account = new ActingAccount()
    account.record({ type: 'invite', code: code(1) })
    expect(account.state.credentials).toEqual({ hash: null, version: 0, code: code(1), isDisabled: false })
    const decision = account.redeem(1, 'the hash')
    expect(outcomeOf(decision)).toEqual({ version: 1 })
    expect(decision).toMatchObject({
      tells: [
        {
          to: { kind: 'directory', tenant: 'default', id: 'directory' },
          command: { type: 'activated', user: 'U1', factors: [] },
        },
      ],
    })
    expect(account.state.credentials).toEqual({ hash: 'the hash', version: 1, code: null, isDisabled: false })
  })

  test.each<[string, (account: ActingAccount) => void, number]>([
    ['of nobody', () => {}, 1],
    ['wrong', did({ type: 'invite', code: code(1) }), 2],
    ['a part of the right one', did({ type: 'invite', code: code(1, { hash: hash(1).slice(1) }) }), 1],
    [
      'used',
      (account) => {
        account.act({ type: 'invite', code: code(1) })
        account.redeem(1)
      },
      1,
    ],
    ['replaced by a fresh one', did({ type: 'invite', code: code(1) }, { type: 'invite', code: code(2) }), 1],
    [
      'expired this very moment',
      (account) => {
        account.act({ type: 'invite', code: code(1) })
        account.at = now + codeLifetimeMs
      },
      1,
    ],
    ['of who was disabled since', did({ type: 'invite', code: code(1) }, { type: 'disable' }), 1],
    [
      'of who was disabled since, and is no more',
      did({ type: 'invite', code: code(1) }, { type: 'disable' }, { type: 'enable' }),
      1,
    ],
    [
      'given to who is disabled',
      did({ type: 'invite', code: code(1) }, { type: 'disable' }, { type: 'invite', code: code(2) }),
      2,
    ],
    ['of who was erased', did({ type: 'invite', code: code(1) }, { type: 'erase' }), 1],
  ])('%s is no good, and nobody can tell why', (_, prepare, byte) => {
    const account = new ActingAccount()
    prepare(account)
    const standing = structuredClone(account.state)
    expect(codeOf(account.state, hash(byte), account.at)).toBeUndefined()
    expect(outcomeOf(account.redeem(byte))).toBe(badCode)
    expect(account.state).toEqual(standing)
  })

  test('is good to its last millisecond, also when it is the second one', () => {
    const account = new ActingAccount()
    account.act({ type: 'invite', code: code(1) })
    account.act({ type: 'invite', code: code(2) })
    account.at = now + codeLifetimeMs - 1
    expect(codeOf(account.state, hash(2), account.at)).toEqual(code(2))
    expect(outcomeOf(account.redeem(2))).toEqual({ version: 1 })
  })

  test('of who was enabled again is good when it is given after that', () => {
    const account = ActingAccount.signedUp()
    account.act({ type: 'disable' })
    account.act({ type: 'enable' })
    account.act({ type: 'invite', code: code(3) })
    expect(account.redeem(3).type).toBe('record')
  })

  test('leaves the old password as it is until it is used, and then ends every session', () => {
    const account = ActingAccount.signedUp()
    account.begin('S1')
    account.begin('S2')
    account.act({ type: 'invite', code: code(7) })
    expect(account.state.credentials).toMatchObject({ hash: 'hash 1', version: 1 })
    expect(account.begin('S3').type).toBe('record')
    const decision = account.redeem(7, 'hash 7')
    expect(toldOf(decision)).toEqual([
      'session/t/S1 end',
      'session/t/S2 end',
      'session/t/S3 end',
      'directory/default/directory activated',
    ])
    expect(account.state.credentials).toMatchObject({ hash: 'hash 7', version: 2, code: null })
    expect(account.sessionIds).toEqual([])
  })

  test.each([
    [true, []],
    [false, ['totp', 'webauthn']],
  ])('that resets the second factors (%s) does so when it is used, not before', (resetsFactors, left) => {
    const account = ActingAccount.signedUp()
    account.setTotp()
    account.addWebauthn('C1')
    account.act({ type: 'factor_failed' })
    account.act({ type: 'invite', code: code(7, { resetsFactors }) })
    expect(account.state.factors.totp).not.toBeNull()
    const decision = account.redeem(7)
    expect(decision).toMatchObject({ tells: [{ command: { type: 'activated', factors: left } }] })
    expect(account.state.factors.recovery).toHaveLength(resetsFactors ? 0 : 2)
    expect(account.state.factors.totp === null).toBe(resetsFactors)
    expect(account.records.has('factors')).toBe(!resetsFactors)
  })
})

describe('an account that is opened with a password', () => {
  test('needs no code', () => {
    const account = new ActingAccount()
    account.record({ type: 'open', passwordHash: 'first' })
    expect(account.state.credentials).toEqual({ hash: 'first', version: 1, code: null, isDisabled: false })
    expect(account.begin('S1').type).toBe('record')
  })

  test('was not there before', () => {
    const account = ActingAccount.signedUp()
    expect(outcomeOf(account.act({ type: 'open', passwordHash: 'x' }))).toBe('conflict: the account exists')
  })
})

describe('a password', () => {
  test('is hashed anew and stays what it is, for as long as nobody changed it', () => {
    const account = ActingAccount.signedUp()
    account.begin('S1')
    const before = account.state.credentials
    const decision = account.act({ type: 'renew_hash', version: 1, passwordHash: 'anew' })
    expect([outcomeOf(decision), toldOf(decision)]).toEqual([undefined, []])
    expect(account.state.credentials).toEqual({ ...before, hash: 'anew' })
    expect(account.sessionIds).toEqual(['S1'])
    account.act({ type: 'set_password', version: 1, passwordHash: 'hash 2', keep: 'S1' })
    expect(account.act({ type: 'renew_hash', version: 1, passwordHash: 'of before' }).type).toBe('answer')
    expect(account.state.credentials).toMatchObject({ hash: 'hash 2', version: 2 })
    account.act({ type: 'erase' })
    expect(account.act({ type: 'renew_hash', version: 2, passwordHash: 'of nobody' }).type).toBe('answer')
    expect(account.state.credentials).toBeUndefined()
  })

  test('is changed by who saw the present one, and ends the other sessions', () => {
    const account = ActingAccount.signedUp()
    for (const id of ['S1', 'S2', 'S3']) account.begin(id)
    const decision = account.act({ type: 'set_password', version: 1, passwordHash: 'hash 2', keep: 'S2' })
    expect(outcomeOf(decision)).toEqual({ version: 2 })
    expect(toldOf(decision)).toEqual(['session/t/S1 end', 'session/t/S3 end'])
    expect(account.sessionIds).toEqual(['S2'])
    expect(account.state.credentials).toMatchObject({ hash: 'hash 2', version: 2 })
  })

  test.each<[string, (account: ActingAccount) => void, number, string]>([
    ['that moved meanwhile', (account) => account.setTotp(), 1, 'conflict: the account was changed meanwhile'],
    ['of a version to come', () => {}, 2, 'conflict: the account was changed meanwhile'],
    ['of who is disabled', did({ type: 'disable' }), 2, 'not_found: Not Found'],
    ['of who is gone', did({ type: 'erase' }), 1, 'not_found: Not Found'],
  ])('%s is not', (_, prepare, version, refusal) => {
    const account = ActingAccount.signedUp()
    prepare(account)
    const decision = account.act({ type: 'set_password', version, passwordHash: 'x', keep: undefined })
    expect(outcomeOf(decision)).toBe(refusal)
  })
})

describe('a session begins', () => {
  test('and is told so, with whose it is', () => {
    const account = ActingAccount.signedUp()
    expect(account.begin('S1')).toMatchObject({
      tells: [
        {
          to: { kind: 'session', tenant: 't', id: 'S1' },
          command: { type: 'begin', user: 'U1', session: begunSession('S1') },
        },
      ],
    })
    expect(account.state.sessions).toEqual([['S1', now]])
  })

  test.each<[string, (account: ActingAccount) => void, string]>([
    ['who was erased', did({ type: 'erase' }), 'unauthorized: invalid credentials'],
    ['who is disabled', did({ type: 'disable' }), 'unauthorized: invalid credentials'],
    [
      'whose password moved',
      did({ type: 'set_password', version: 1, passwordHash: 'x', keep: undefined }),
      'conflict: the account was changed meanwhile',
    ],
    ['who has a second factor now', (account) => account.setTotp(), 'conflict: the account was changed meanwhile'],
    [
      'who was disabled and enabled meanwhile',
      did({ type: 'disable' }, { type: 'enable' }),
      'conflict: the account was changed meanwhile',
    ],
  ])('not for one %s', (_, prepare, refusal) => {
    const account = ActingAccount.signedUp()
    prepare(account)
    expect(outcomeOf(account.begin('S1', 1))).toBe(refusal)
    expect(account.sessionIds).toEqual([])
  })

  test('not for who was only invited, nor for nobody', () => {
    const account = new ActingAccount()
    expect(outcomeOf(account.begin('S1', 0))).toBe('unauthorized: invalid credentials')
    account.act({ type: 'invite', code: code(1) })
    expect(outcomeOf(account.begin('S1', 0))).toBe('unauthorized: invalid credentials')
  })

  test('once under its name', () => {
    const account = ActingAccount.signedUp()
    account.begin('S1')
    expect(outcomeOf(account.begin('S1'))).toBe('conflict: the session has begun')
  })

  test(`so that there are at most ${sessionsMax}: the oldest ends`, () => {
    const account = ActingAccount.signedUp()
    for (let index = 1; index <= sessionsMax; index++) {
      expect(toldOf(account.begin(`S${index}`))).toEqual([`session/t/S${index} begin`])
    }
    expect(account.sessionIds).toHaveLength(sessionsMax)
    expect(toldOf(account.begin('S101'))).toEqual(['session/t/S1 end', 'session/t/S101 begin'])
    account.act({ type: 'session_over', session: 'S2' })
    expect(toldOf(account.begin('S102'))).toEqual(['session/t/S102 begin'])
    expect(toldOf(account.begin('S103'))).toEqual(['session/t/S3 end', 'session/t/S103 begin'])
    expect(account.sessionIds).toHaveLength(sessionsMax)
  })
})

describe('sessions end', () => {
  test.each<[string, AccountCommand, unknown, string[]]>([
    ['all of them', { type: 'end_sessions' }, 3, []],
    ['all but one', { type: 'end_sessions', keep: 'S2' }, 2, ['S2']],
    ['all, where the one to keep is none of them', { type: 'end_sessions', keep: 'S9' }, 3, []],
    ['one alone', { type: 'end_sessions', only: 'S2' }, 1, ['S1', 'S3']],
    [
      'none, where it is not among them',
      { type: 'end_sessions', only: 'S9' },
      'not_found: Not Found',
      ['S1', 'S2', 'S3'],
    ],
    ['one that ended by itself', { type: 'session_over', session: 'S1' }, undefined, ['S2', 'S3']],
    ['none that nobody knows', { type: 'session_over', session: 'S9' }, undefined, ['S1', 'S2', 'S3']],
    ['with the account', { type: 'erase' }, undefined, []],
    ['with being disabled', { type: 'disable' }, undefined, []],
  ])('%s', (_, command, outcome, left) => {
    const account = ActingAccount.signedUp()
    for (const id of ['S1', 'S2', 'S3']) account.begin(id)
    const decision = account.act(command)
    expect(outcomeOf(decision)).toEqual(outcome)
    expect(account.sessionIds).toEqual(left)
    // One that ended by itself knows.
    const ended = command.type === 'session_over' ? [] : ['S1', 'S2', 'S3'].filter((id) => !left.includes(id))
    expect(toldOf(decision)).toEqual(ended.map((id) => `session/t/${id} end`))
  })

  test('and there is nothing to store when there were none', () => {
    const account = ActingAccount.signedUp()
    expect(account.act({ type: 'end_sessions' })).toEqual({ type: 'answer', value: 0 })
    expect(account.act({ type: 'end_sessions', keep: 'S1' })).toEqual({ type: 'answer', value: 0 })
  })
})

describe('an account', () => {
  test('that is erased leaves nothing', () => {
    const account = ActingAccount.signedUp()
    account.setTotp()
    account.begin('S1')
    account.act({ type: 'erase' })
    expect(account.records.size).toBe(0)
    expect(account.state).toEqual(new ActingAccount().state)
  })

  test('is disabled and enabled once each', () => {
    const account = ActingAccount.signedUp()
    expect(account.act({ type: 'enable' }).type).toBe('answer')
    expect(account.act({ type: 'disable' }).type).toBe('record')
    expect(account.act({ type: 'disable' }).type).toBe('answer')
    expect(account.state.credentials).toMatchObject({ hash: 'hash 1', isDisabled: true })
    account.act({ type: 'enable' })
    expect(account.state.credentials).toMatchObject({ hash: 'hash 1', isDisabled: false })
    expect(account.begin('S1').type).toBe('record')
  })

  test('that does not exist may be told anything, in whatever order it comes', () => {
    const account = new ActingAccount()
    for (const type of ['disable', 'enable', 'erase'] as const) expect(account.act({ type }).type).not.toBe('refuse')
    expect(account.act({ type: 'session_over', session: 'S1' }).type).toBe('answer')
    expect(account.records.size).toBe(0)
  })

  test.each<AccountCommand>([
    { type: 'set_totp', version: 0, secret: hash(1), step: 1, recovery: [], keep: undefined },
    { type: 'add_webauthn', version: 0, credential: credential('C'), recovery: undefined, keep: undefined },
    { type: 'remove_totp', version: 0, keep: undefined, isRequired: false },
    { type: 'remove_webauthn', version: 0, id: 'C', keep: undefined, isRequired: false },
    { type: 'factor_failed' },
    { type: 'set_password', version: 0, passwordHash: 'x', keep: undefined },
  ])('that does not exist refuses $type', (command) => {
    expect(outcomeOf(new ActingAccount().act(command))).toBe('not_found: Not Found')
  })

  test('has a format for each of its records, and no others', () => {
    const account = ActingAccount.signedUp()
    account.begin('S1')
    account.setTotp()
    account.begin('S2')
    const { fixedRecords, formats } = account.definition
    expect([...account.records.keys()].sort()).toEqual([...(fixedRecords ?? [])].sort())
    expect(Object.keys(formats)).toEqual(fixedRecords)
  })
})
