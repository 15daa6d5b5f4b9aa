import { beforeEach, describe, expect, test } from 'vitest'
import { codeOf, sessionsMax } from '#actors/account/credentials'
import type { AccessCode, AccountCommand } from '#actors/account/state'
import { ActingAccount, begunSession, code, codeLifetimeMs, credential, hash } from '#test/actors/acting-account'
import { now, outcomeOf, sentCommandsOf } from '#test/actors/acting-actor'

type Step = AccountCommand | number

const invite = (byte: number, more: Partial<AccessCode> = {}): AccountCommand => {
  return { type: 'invite', code: code(byte, more) }
}
const redeem = (byte: number): AccountCommand => ({ type: 'redeem_code', codeHash: hash(byte), passwordHash: 'hash' })
const setPassword = (version: number): AccountCommand => {
  return { type: 'set_password', version, passwordHash: 'x', keep: undefined }
}
const [disable, enable, erase] = [{ type: 'disable' }, { type: 'enable' }, { type: 'erase' }] as const

/** Runs the commands. A number is a pause in milliseconds. */
function run(account: ActingAccount, steps: readonly Step[]): void {
  for (const step of steps) {
    if (typeof step === 'number') account.at += step
    else account.act(step)
  }
}

const notFound = 'not_found: Not Found'
const isChanged = 'conflict: the account was changed meanwhile'
const badCode = 'unauthorized: invalid or expired code'

let account: ActingAccount
beforeEach(() => {
  account = ActingAccount.signedUp()
})

describe('a code', () => {
  test('is created with an invitation', () => {
    const account = new ActingAccount()
    account.record(invite(1))
    expect(account.state.credentials).toEqual({ hash: null, version: 0, code: code(1), isDisabled: false })
    const decision = account.redeem(1, 'the hash')
    expect(outcomeOf(decision)).toEqual({ version: 1 })
    const to = { kind: 'directory', tenant: 'default', id: 'directory' }
    expect(decision).toMatchObject({ tells: [{ to, command: { type: 'activated', user: 'U1', factors: [] } }] })
    expect(account.state.credentials).toEqual({ hash: 'the hash', version: 1, code: null, isDisabled: false })
  })

  test.each<[string, readonly Step[], number]>([
    ['of an account that does not exist', [], 1],
    ['that is wrong', [invite(1)], 2],
    ['whose hash is a part of the right one', [invite(1, { hash: hash(1).slice(1) })], 1],
    ['that is used', [invite(1), redeem(1)], 1],
    ['that a newer code replaced', [invite(1), invite(2)], 1],
    ['that expires at this millisecond', [invite(1), codeLifetimeMs], 1],
    ['of an account that was disabled later', [invite(1), disable], 1],
    ['of an account that was disabled and enabled again', [invite(1), disable, enable], 1],
    ['given to a disabled account', [invite(1), disable, invite(2)], 2],
    ['of an erased account', [invite(1), erase], 1],
  ])('%s is refused with the same error', (_, steps, byte) => {
    const account = new ActingAccount()
    run(account, steps)
    const before = structuredClone(account.state)
    expect(codeOf(account.state, hash(byte), account.at)).toBeUndefined()
    expect(outcomeOf(account.redeem(byte))).toBe(badCode)
    expect(account.state).toEqual(before)
  })

  test('is valid until it expires, also if it replaces another code of an account that was enabled again', () => {
    run(account, [disable, enable, invite(1), invite(2), codeLifetimeMs - 1])
    expect(codeOf(account.state, hash(2), account.at)).toEqual(code(2))
    expect(outcomeOf(account.redeem(2))).toEqual({ version: account.version })
  })

  test('does not change the old password until it is used, and then ends every session', () => {
    account.begin('S1')
    account.begin('S2')
    account.act(invite(7))
    expect(account.state.credentials).toMatchObject({ hash: 'hash 1', version: 1 })
    expect(account.begin('S3').type).toBe('record')
    const decision = account.redeem(7, 'hash 7')
    const ended = ['S1', 'S2', 'S3'].map((session) => `session/t/${session} end`)
    expect(sentCommandsOf(decision)).toEqual([...ended, 'directory/default/directory activated'])
    expect(account.state.credentials).toMatchObject({ hash: 'hash 7', version: 2, code: null })
    expect(account.sessionIds).toEqual([])
  })

  test.each([
    [true, []],
    [false, ['totp', 'webauthn']],
  ])('resets the second factors (%s) when it is used', (resetsFactors, left) => {
    account.setTotp()
    account.addWebauthn('C1')
    account.act({ type: 'factor_failed' })
    account.act(invite(7, { resetsFactors }))
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

  test('cannot be opened if it exists', () => {
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

  test('changes if the caller names the present version, and then the other sessions end', () => {
    for (const id of ['S1', 'S2', 'S3']) account.begin(id)
    const decision = account.act({ type: 'set_password', version: 1, passwordHash: 'hash 2', keep: 'S2' })
    expect(outcomeOf(decision)).toEqual({ version: 2 })
    expect(sentCommandsOf(decision)).toEqual(['session/t/S1 end', 'session/t/S3 end'])
    expect(account.sessionIds).toEqual(['S2'])
    expect(account.state.credentials).toMatchObject({ hash: 'hash 2', version: 2 })
  })

  test.each<[string, readonly Step[], number, string]>([
    ['that was changed meanwhile', [setPassword(1)], 1, isChanged],
    ['of a future version', [], 2, isChanged],
    ['of a disabled account', [disable], 2, notFound],
    ['of a deleted account', [erase], 1, notFound],
  ])('%s does not change', (_, steps, version, refusal) => {
    run(account, steps)
    expect(outcomeOf(account.act(setPassword(version)))).toBe(refusal)
  })
})

describe('a new session', () => {
  test('is stored, and the session actor receives its account', () => {
    const to = { kind: 'session', tenant: 't', id: 'S1' }
    const command = { type: 'begin', user: 'U1', session: begunSession('S1') }
    expect(account.begin('S1')).toMatchObject({ tells: [{ to, command }] })
    expect(account.state.sessions).toEqual([['S1', now]])
  })

  const badCredentials = 'unauthorized: invalid credentials'
  test.each<[string, readonly Step[], string]>([
    ['an account that was erased', [erase], badCredentials],
    ['an invited account', [erase, invite(1)], badCredentials],
    ['a disabled account', [disable], badCredentials],
    ['an account whose password changed', [setPassword(1)], isChanged],
    ['an account that was disabled and enabled meanwhile', [disable, enable], isChanged],
  ])('does not begin for %s', (_, steps, refusal) => {
    run(account, steps)
    expect(outcomeOf(account.begin('S1', 1))).toBe(refusal)
    expect(account.sessionIds).toEqual([])
  })

  test('does not begin for an account that has a second factor now', () => {
    account.setTotp()
    expect(outcomeOf(account.begin('S1', 1))).toBe(isChanged)
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

describe('the sessions that end are', () => {
  test.each<[string, AccountCommand, unknown, string[]]>([
    ['all of them', { type: 'end_sessions' }, 3, []],
    ['all but one', { type: 'end_sessions', keep: 'S2' }, 2, ['S2']],
    ['all, if the session to keep is unknown', { type: 'end_sessions', keep: 'S9' }, 3, []],
    ['one, if only one is named', { type: 'end_sessions', only: 'S2' }, 1, ['S1', 'S3']],
    ['none, if the named one is unknown', { type: 'end_sessions', only: 'S9' }, notFound, ['S1', 'S2', 'S3']],
    ['one that expired', { type: 'session_over', session: 'S1' }, undefined, ['S2', 'S3']],
    ['none, if the session is unknown', { type: 'session_over', session: 'S9' }, undefined, ['S1', 'S2', 'S3']],
    ['all, when the account is erased', erase, undefined, []],
    ['all, when the account is disabled', disable, undefined, []],
  ])('%s', (_, command, outcome, left) => {
    for (const id of ['S1', 'S2', 'S3']) account.begin(id)
    const decision = account.act(command)
    expect(outcomeOf(decision)).toEqual(outcome)
    expect(account.sessionIds).toEqual(left)
    // The actor of an expired session has already ended the session, and gets no command.
    const ended = command.type === 'session_over' ? [] : ['S1', 'S2', 'S3'].filter((id) => !left.includes(id))
    expect(sentCommandsOf(decision)).toEqual(ended.map((id) => `session/t/${id} end`))
  })

  test('none of an account without sessions, and nothing is stored', () => {
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

  test('can be disabled and enabled again, and a repeated command stores nothing', () => {
    const types = [enable, disable, disable].map((command) => account.act(command).type)
    expect(types).toEqual(['answer', 'record', 'answer'])
    expect(account.state.credentials).toMatchObject({ hash: 'hash 1', isDisabled: true })
    account.act(enable)
    expect(account.state.credentials).toMatchObject({ hash: 'hash 1', isDisabled: false })
    expect(account.begin('S1').type).toBe('record')
  })

  test.each<AccountCommand>([
    { type: 'set_totp', version: 0, secret: hash(1), step: 1, recovery: [], keep: undefined },
    { type: 'add_webauthn', version: 0, credential: credential('C'), recovery: undefined, keep: undefined },
    { type: 'remove_totp', version: 0, keep: undefined, isRequired: false },
    { type: 'remove_webauthn', version: 0, id: 'C', keep: undefined, isRequired: false },
    { type: 'factor_failed' },
    setPassword(0),
  ])('refuses $type if it does not exist', (command) => {
    expect(outcomeOf(new ActingAccount().act(command))).toBe(notFound)
  })

  test.each<AccountCommand>([disable, enable, erase, { type: 'session_over', session: 'S1' }])(
    'accepts $type if it does not exist, and stores nothing',
    (command) => {
      const account = new ActingAccount()
      expect(account.act(command).type).not.toBe('refuse')
      expect(account.records.size).toBe(0)
    },
  )
})
