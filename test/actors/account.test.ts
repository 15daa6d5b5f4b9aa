import { beforeEach, describe, expect, test } from 'vitest'
import type { AccountCommand } from '#actors/account/commands'
import { codeOf } from '#actors/account/credentials'
import { sessionsMax } from '#actors/account/sessions'
import { ActingAccount, begunSession, code, codeLifetimeMs, credential, hash } from '#test/actors/acting-account'
import { now, outcomeOf, sentCommandsOf } from '#test/actors/acting-actor'

const did =
  (...commands: readonly AccountCommand[]) =>
  (account: ActingAccount) => {
    for (const command of commands) account.act(command)
  }

const badCode = 'unauthorized: invalid or expired code'

let account: ActingAccount
beforeEach(() => {
  account = ActingAccount.signedUp()
})

describe('a code', () => {
  test('is created with an invitation', () => {
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
    ['of an account that does not exist', () => {}, 1],
    ['wrong', did({ type: 'invite', code: code(1) }), 2],
    ['whose hash is a part of the right one', did({ type: 'invite', code: code(1, { hash: hash(1).slice(1) }) }), 1],
    [
      'used',
      (account) => {
        account.act({ type: 'invite', code: code(1) })
        account.redeem(1)
      },
      1,
    ],
    ['that a newer code replaced', did({ type: 'invite', code: code(1) }, { type: 'invite', code: code(2) }), 1],
    [
      'that expires at this millisecond',
      (account) => {
        account.act({ type: 'invite', code: code(1) })
        account.at = now + codeLifetimeMs
      },
      1,
    ],
    ['of an account that was disabled later', did({ type: 'invite', code: code(1) }, { type: 'disable' }), 1],
    [
      'of an account that was disabled and enabled again',
      did({ type: 'invite', code: code(1) }, { type: 'disable' }, { type: 'enable' }),
      1,
    ],
    [
      'given to a disabled account',
      did({ type: 'invite', code: code(1) }, { type: 'disable' }, { type: 'invite', code: code(2) }),
      2,
    ],
    ['of an erased account', did({ type: 'invite', code: code(1) }, { type: 'erase' }), 1],
  ])('%s is refused with the same error', (_, prepare, byte) => {
    const account = new ActingAccount()
    prepare(account)
    const standing = structuredClone(account.state)
    expect(codeOf(account.state, hash(byte), account.at)).toBeUndefined()
    expect(outcomeOf(account.redeem(byte))).toBe(badCode)
    expect(account.state).toEqual(standing)
  })

  test('is valid until its last millisecond, also as the second code', () => {
    const account = new ActingAccount()
    account.act({ type: 'invite', code: code(1) })
    account.act({ type: 'invite', code: code(2) })
    account.at = now + codeLifetimeMs - 1
    expect(codeOf(account.state, hash(2), account.at)).toEqual(code(2))
    expect(outcomeOf(account.redeem(2))).toEqual({ version: 1 })
  })

  test('is valid if it was given after the account was enabled again', () => {
    account.act({ type: 'disable' })
    account.act({ type: 'enable' })
    account.act({ type: 'invite', code: code(3) })
    expect(account.redeem(3).type).toBe('record')
  })

  test('keeps the old password until the code is used, and then ends every session', () => {
    account.begin('S1')
    account.begin('S2')
    account.act({ type: 'invite', code: code(7) })
    expect(account.state.credentials).toMatchObject({ hash: 'hash 1', version: 1 })
    expect(account.begin('S3').type).toBe('record')
    const decision = account.redeem(7, 'hash 7')
    expect(sentCommandsOf(decision)).toEqual([
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
  ])('that resets the second factors (%s) resets them when it is used', (resetsFactors, left) => {
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

  test('must not exist before', () => {
    expect(outcomeOf(account.act({ type: 'open', passwordHash: 'x' }))).toBe('conflict: the account exists')
  })
})

describe('a password', () => {
  test('gets a new hash without other changes, unless it was changed meanwhile', () => {
    account.begin('S1')
    const before = account.state.credentials
    const decision = account.act({ type: 'renew_hash', version: 1, passwordHash: 'anew' })
    expect([outcomeOf(decision), sentCommandsOf(decision)]).toEqual([undefined, []])
    expect(account.state.credentials).toEqual({ ...before, hash: 'anew' })
    expect(account.sessionIds).toEqual(['S1'])
    account.act({ type: 'set_password', version: 1, passwordHash: 'hash 2', keep: 'S1' })
    expect(account.act({ type: 'renew_hash', version: 1, passwordHash: 'of an older version' }).type).toBe('answer')
    expect(account.state.credentials).toMatchObject({ hash: 'hash 2', version: 2 })
    account.act({ type: 'erase' })
    expect(account.act({ type: 'renew_hash', version: 2, passwordHash: 'of an unknown account' }).type).toBe('answer')
    expect(account.state.credentials).toBeUndefined()
  })

  test('changes if the caller has seen the present one, and the other sessions end', () => {
    for (const id of ['S1', 'S2', 'S3']) account.begin(id)
    const decision = account.act({ type: 'set_password', version: 1, passwordHash: 'hash 2', keep: 'S2' })
    expect(outcomeOf(decision)).toEqual({ version: 2 })
    expect(sentCommandsOf(decision)).toEqual(['session/t/S1 end', 'session/t/S3 end'])
    expect(account.sessionIds).toEqual(['S2'])
    expect(account.state.credentials).toMatchObject({ hash: 'hash 2', version: 2 })
  })

  test.each<[string, (account: ActingAccount) => void, number, string]>([
    ['that was changed meanwhile', (account) => account.setTotp(), 1, 'conflict: the account was changed meanwhile'],
    ['of a future version', () => {}, 2, 'conflict: the account was changed meanwhile'],
    ['of a disabled account', did({ type: 'disable' }), 2, 'not_found: Not Found'],
    ['of a deleted account', did({ type: 'erase' }), 1, 'not_found: Not Found'],
  ])('%s does not change', (_, prepare, version, refusal) => {
    prepare(account)
    const decision = account.act({ type: 'set_password', version, passwordHash: 'x', keep: undefined })
    expect(outcomeOf(decision)).toBe(refusal)
  })
})

describe('a session begins', () => {
  test('and the session actor receives its account', () => {
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
    ['an account that was erased', did({ type: 'erase' }), 'unauthorized: invalid credentials'],
    ['a disabled account', did({ type: 'disable' }), 'unauthorized: invalid credentials'],
    [
      'an account whose password changed',
      did({ type: 'set_password', version: 1, passwordHash: 'x', keep: undefined }),
      'conflict: the account was changed meanwhile',
    ],
    [
      'an account that has a second factor now',
      (account) => account.setTotp(),
      'conflict: the account was changed meanwhile',
    ],
    [
      'an account that was disabled and enabled meanwhile',
      did({ type: 'disable' }, { type: 'enable' }),
      'conflict: the account was changed meanwhile',
    ],
  ])('does not begin for %s', (_, prepare, refusal) => {
    prepare(account)
    expect(outcomeOf(account.begin('S1', 1))).toBe(refusal)
    expect(account.sessionIds).toEqual([])
  })

  test('does not begin for an invited or unknown account', () => {
    const account = new ActingAccount()
    expect(outcomeOf(account.begin('S1', 0))).toBe('unauthorized: invalid credentials')
    account.act({ type: 'invite', code: code(1) })
    expect(outcomeOf(account.begin('S1', 0))).toBe('unauthorized: invalid credentials')
  })

  test('begins once for each id', () => {
    account.begin('S1')
    expect(outcomeOf(account.begin('S1'))).toBe('conflict: the session has begun')
  })

  test(`ends the oldest session when there are more than ${sessionsMax}`, () => {
    for (let index = 1; index <= sessionsMax; index++) {
      expect(sentCommandsOf(account.begin(`S${index}`))).toEqual([`session/t/S${index} begin`])
    }
    expect(account.sessionIds).toHaveLength(sessionsMax)
    expect(sentCommandsOf(account.begin('S101'))).toEqual(['session/t/S1 end', 'session/t/S101 begin'])
    account.act({ type: 'session_over', session: 'S2' })
    expect(sentCommandsOf(account.begin('S102'))).toEqual(['session/t/S102 begin'])
    expect(sentCommandsOf(account.begin('S103'))).toEqual(['session/t/S3 end', 'session/t/S103 begin'])
    expect(account.sessionIds).toHaveLength(sessionsMax)
  })
})

describe('sessions end', () => {
  test.each<[string, AccountCommand, unknown, string[]]>([
    ['all of them', { type: 'end_sessions' }, 3, []],
    ['all but one', { type: 'end_sessions', keep: 'S2' }, 2, ['S2']],
    ['all, if the session to keep is not among them', { type: 'end_sessions', keep: 'S9' }, 3, []],
    ['only one', { type: 'end_sessions', only: 'S2' }, 1, ['S1', 'S3']],
    [
      'none, if the session is not among them',
      { type: 'end_sessions', only: 'S9' },
      'not_found: Not Found',
      ['S1', 'S2', 'S3'],
    ],
    ['one that expired', { type: 'session_over', session: 'S1' }, undefined, ['S2', 'S3']],
    ['none, if the session is unknown', { type: 'session_over', session: 'S9' }, undefined, ['S1', 'S2', 'S3']],
    ['when the account is erased', { type: 'erase' }, undefined, []],
    ['when the account is disabled', { type: 'disable' }, undefined, []],
  ])('%s', (_, command, outcome, left) => {
    for (const id of ['S1', 'S2', 'S3']) account.begin(id)
    const decision = account.act(command)
    expect(outcomeOf(decision)).toEqual(outcome)
    expect(account.sessionIds).toEqual(left)
    // The actor of an expired session has ended it already, and gets no command.
    const ended = command.type === 'session_over' ? [] : ['S1', 'S2', 'S3'].filter((id) => !left.includes(id))
    expect(sentCommandsOf(decision)).toEqual(ended.map((id) => `session/t/${id} end`))
  })

  test('stores nothing when the account had no sessions', () => {
    expect(account.act({ type: 'end_sessions' })).toEqual({ type: 'answer', value: 0 })
    expect(account.act({ type: 'end_sessions', keep: 'S1' })).toEqual({ type: 'answer', value: 0 })
  })
})

describe('an account', () => {
  test('leaves no record when it is erased', () => {
    account.setTotp()
    account.begin('S1')
    account.act({ type: 'erase' })
    expect(account.records.size).toBe(0)
    expect(account.state).toEqual(new ActingAccount().state)
  })

  test('is disabled once and enabled once', () => {
    expect(account.act({ type: 'enable' }).type).toBe('answer')
    expect(account.act({ type: 'disable' }).type).toBe('record')
    expect(account.act({ type: 'disable' }).type).toBe('answer')
    expect(account.state.credentials).toMatchObject({ hash: 'hash 1', isDisabled: true })
    account.act({ type: 'enable' })
    expect(account.state.credentials).toMatchObject({ hash: 'hash 1', isDisabled: false })
    expect(account.begin('S1').type).toBe('record')
  })

  test('ignores commands in any order if it does not exist', () => {
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
  ])('refuses $type if it does not exist', (command) => {
    expect(outcomeOf(new ActingAccount().act(command))).toBe('not_found: Not Found')
  })
})
