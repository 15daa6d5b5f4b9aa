import { beforeEach, describe, expect, test } from 'vitest'
import { tenantUsersMax, usersMax } from '#actors/directory/directory'
import { rowByName, tenantRow } from '#actors/directory/queries'
import type { DirectoryCommand, NewUser } from '#actors/directory/state'
import { code, hash } from '#test/actors/acting-account'
import { now, outcomeOf, sentCommandsOf, turnAt } from '#test/actors/acting-actor'
import { type ActingDirectory, directoryWith } from '#test/actors/acting-directory'

let directory: ActingDirectory
beforeEach(() => {
  directory = directoryWith()
})

describe('a user', () => {
  test('that is invited can be found, and the account receives the code', () => {
    const decision = directory.invite('Ann', { email: 'Ann@Example.org', roles: ['viewer', 'ops', 'viewer'] })
    const row = {
      ...{ id: 'ANN', tenant: 'default', name: 'Ann', email: 'Ann@Example.org', roles: ['viewer', 'ops'] },
      ...{ state: 'invited', hasPassword: false, factors: [], createdAt: now, rolesSince: -1 },
    }
    expect(outcomeOf(decision)).toMatchObject(row)
    expect(decision).toMatchObject({
      tells: [{ to: { kind: 'account', tenant: 'default', id: 'ANN' }, command: { type: 'invite', code: code(1) } }],
    })
    expect(rowByName(directory.state, 'aNN')).toMatchObject(row)
    expect(directory.notices.received).toEqual(['user ANN of default invited viewer,ops since -1'])
  })

  test.each<[string, string, Partial<NewUser>, string]>([
    ['the same name', 'ann', {}, 'conflict: the name is taken'],
    ['the name in another case', 'ANN', {}, 'conflict: the name is taken'],
    ['the name in letters that look the same', '𝐀nn', {}, 'conflict: the name is taken'],
    ['the name in another Unicode composition', 'zoë', {}, 'conflict: the name is taken'],
    ['the name in another tenant', 'ann', { tenant: 'other' }, 'conflict: the name is taken'],
    ['the address in another case', 'bob', { email: 'ANN@example.org' }, 'conflict: the email is taken'],
    ['an id that exists', 'bob', { id: 'ANN' }, 'conflict: the id is taken'],
    ['an unknown tenant', 'bob', { tenant: 'none' }, 'not_found: Not Found'],
    ['a tenant that is being deleted', 'bob', { tenant: 'gone' }, 'not_found: Not Found'],
    ['a name of a tenant that is being deleted', 'dora', {}, 'conflict: the name is taken'],
  ])('with %s is refused', (_, name, more, refusal) => {
    const directory = directoryWith('other', 'gone')
    directory.add('ann', { email: 'ann@example.org' })
    directory.add('zoe\u0308', { id: 'ZOE' })
    directory.add('dora', { tenant: 'gone' })
    directory.act({ type: 'delete_tenant', tenant: 'gone' })
    expect(outcomeOf(directory.invite(name, { id: 'NEW', ...more }))).toBe(refusal)
  })

  test('may have the address of a user in another tenant', () => {
    const directory = directoryWith('other')
    directory.add('ann', { email: 'x@example.org' })
    expect(directory.invite('bob', { email: 'x@example.org', tenant: 'other' }).type).toBe('record')
  })

  test.each([
    ['the server', usersMax, 'default', 'other'],
    ['a tenant other than default', tenantUsersMax, 'other', 'default'],
  ])('cannot be invited when %s has %i users', (_, max, full, others) => {
    const directory = directoryWith('other')
    const { definition, state } = directory
    directory.fill(full, max - 1)
    const add = (name: string, tenant: string) => {
      const user = { id: name.toUpperCase(), tenant, name, email: null, roles: [] }
      return definition.decide(state, { type: 'add_user', user, code: code(1) }, turnAt())
    }
    const last = add('last', full)
    for (const change of (last.type === 'record' && last.records) || []) definition.change?.(state, change)
    expect(outcomeOf(add('more', full))).toBe(
      `conflict: a ${full === 'other' ? 'tenant' : 'server'} has at most ${max} users`,
    )
    if (full === 'other') expect(outcomeOf(add('more', others))).toMatchObject({ name: 'more' })
  })

  test('becomes active when the account reports it, and keeps later changes', () => {
    directory.invite('ann')
    directory.act({ type: 'activated', user: 'ANN', factors: [] })
    expect(directory.row('ANN')).toMatchObject({ state: 'active', hasPassword: true })
    directory.act({ type: 'factors_changed', user: 'ANN', factors: ['totp'] })
    expect(directory.row('ANN')).toMatchObject({ state: 'active', factors: ['totp'] })
    directory.act({ type: 'activated', user: 'ANN', factors: [] })
    expect(directory.row('ANN')).toMatchObject({ state: 'active', factors: [] })
  })

  test('that was removed may still be named in a late command, which changes nothing', () => {
    for (const type of ['activated', 'factors_changed'] as const) {
      expect(directory.act({ type, user: 'ANN', factors: [] }).type).toBe('answer')
    }
    expect(directory.act({ type: 'roles_settled', user: 'ANN', edit: 1, since: 5 }).type).toBe('answer')
  })

  test('that is removed leaves no record, and the name becomes free', () => {
    const empty = structuredClone(directory.state)
    directory.add('ann', { email: 'ann@example.org', roles: ['ops'] })
    const decision = directory.act({ type: 'remove_user', user: 'ANN' })
    expect(sentCommandsOf(decision)).toEqual(['account/default/ANN erase', 'subscriber/default/ANN erase'])
    expect(directory.notices.received).toEqual(['user ANN gone'])
    expect(directory.state).toEqual(empty)
    expect(directory.records.size).toBe(0)
    expect(outcomeOf(directory.act({ type: 'remove_user', user: 'ANN' }))).toBe('not_found: Not Found')
    expect(directory.invite('ANN').type).toBe('record')
  })
})

describe('a change of a user', () => {
  test('affects only the fields of the request', () => {
    directory.add('ann', { email: 'ann@example.org', roles: ['viewer'] })
    const before = directory.row('ANN')
    directory.act({ type: 'update_user', user: 'ANN', email: 'new@example.org' })
    expect(directory.row('ANN')).toEqual({ ...before, email: 'new@example.org' })
    expect(directory.state.byEmail.has('ann@example.org')).toBe(false)
    directory.act({ type: 'update_user', user: 'ANN', email: null })
    expect(directory.row('ANN')).toEqual({ ...before, email: null })
    expect(outcomeOf(directory.act({ type: 'update_user', user: 'ANN' }))).toEqual({ ...before, email: null })
  })

  test('to an address of another user in the tenant is refused, in any case of letters', () => {
    const directory = directoryWith('other')
    directory.add('ann', { email: 'ann@example.org' })
    directory.add('bob', { email: 'bob@example.org' })
    directory.add('cid', { email: 'cid@example.org', tenant: 'other' })
    const set = (email: string) => outcomeOf(directory.act({ type: 'update_user', user: 'ANN', email }))
    expect(set('BOB@example.org')).toBe('conflict: the email is taken')
    for (const email of ['ANN@example.org', 'cid@example.org']) expect(set(email)).toMatchObject({ email })
  })

  test('needs a known user, and a tenant that is not being deleted', () => {
    const directory = directoryWith('gone')
    directory.add('ann', { tenant: 'gone' })
    directory.act({ type: 'delete_tenant', tenant: 'gone' })
    for (const user of ['NOBODY', 'ANN']) {
      expect(outcomeOf(directory.act({ type: 'update_user', user, email: null }))).toBe('not_found: Not Found')
      expect(outcomeOf(directory.act({ type: 'remove_user', user }))).toBe('not_found: Not Found')
    }
  })

  test.each(['invited', 'active'])('disables an %s user, and then restores the earlier state', (before) => {
    if (before === 'invited') directory.invite('ann')
    else directory.add('ann')
    for (const [state, after, sent] of [
      ['active', before, []],
      ['disabled', 'disabled', ['account/default/ANN disable']],
      ['active', before, ['account/default/ANN enable']],
    ] as const) {
      expect(sentCommandsOf(directory.act({ type: 'update_user', user: 'ANN', state }))).toEqual(sent)
      expect(directory.row('ANN').state).toBe(after)
    }
  })

  test('that the account reports does not enable a disabled user', () => {
    directory.add('ann')
    directory.act({ type: 'update_user', user: 'ANN', state: 'disabled' })
    directory.act({ type: 'activated', user: 'ANN', factors: [] })
    expect(directory.row('ANN').state).toBe('disabled')
  })
})

describe('roles of a user', () => {
  test('hold from an offset that is added after the edit', () => {
    directory.add('ann', { roles: ['viewer'] })
    directory.act({ type: 'update_user', user: 'ANN', roles: ['ops', 'viewer'] })
    const { rolesSince, rolesEdit } = directory.row('ANN')
    expect(rolesSince).toBeNull()
    expect(directory.notices.received).toEqual(['user ANN of default active ops,viewer since null'])
    directory.act({ type: 'roles_settled', user: 'ANN', edit: rolesEdit, since: 77 })
    expect(directory.row('ANN')).toMatchObject({ rolesSince: 77, roles: ['ops', 'viewer'] })
    expect(directory.notices.received).toEqual(['user ANN of default active ops,viewer since 77'])
    expect(directory.act({ type: 'roles_settled', user: 'ANN', edit: rolesEdit, since: 99 }).type).toBe('answer')
  })

  test('get their offset only from the last edit', () => {
    directory.add('ann', { roles: ['viewer'] })
    directory.act({ type: 'update_user', user: 'ANN', roles: ['ops'] })
    const first = directory.row('ANN').rolesEdit
    directory.act({ type: 'update_user', user: 'ANN', roles: [] })
    const second = directory.row('ANN').rolesEdit
    expect(first).not.toBe(second)
    expect(directory.act({ type: 'roles_settled', user: 'ANN', edit: first, since: 77 }).type).toBe('answer')
    expect(directory.row('ANN').rolesSince).toBeNull()
    directory.act({ type: 'roles_settled', user: 'ANN', edit: second, since: 78 })
    expect(directory.row('ANN').rolesSince).toBe(78)
  })

  test.each([
    [['viewer', 'ops'], ['ops', 'viewer'], -1],
    [['viewer', 'ops'], ['ops', 'viewer', 'ops'], -1],
    [['viewer', 'ops'], ['viewer'], null],
    [['viewer'], ['viewer', 'ops'], null],
    [['viewer'], ['ops'], null],
    [[], [], -1],
  ])('%j that are replaced with %j hold since offset %s', (before, roles, since) => {
    directory.add('ann', { roles: before })
    directory.act({ type: 'update_user', user: 'ANN', roles })
    expect(directory.row('ANN').rolesSince).toBe(since)
  })
})

describe('the last administrator', () => {
  const refusal = 'conflict: the user is the last administrator'
  const changes: readonly [string, DirectoryCommand][] = [
    ['removed', { type: 'remove_user', user: 'ANN' }],
    ['disabled', { type: 'update_user', user: 'ANN', state: 'disabled' }],
    ['left without the administrator role', { type: 'update_user', user: 'ANN', roles: ['viewer'] }],
    ['left without any role', { type: 'update_user', user: 'ANN', roles: [] }],
    [
      'disabled with all its roles',
      { type: 'update_user', user: 'ANN', roles: ['admin', 'viewer'], state: 'disabled' },
    ],
  ]

  beforeEach(() => directory.add('ann', { roles: ['admin', 'viewer'] }))

  test.each(changes)('cannot be %s', (_, command) => {
    expect(outcomeOf(directory.act(command))).toBe(refusal)
    directory.add('bob', { roles: ['admin'] })
    expect(directory.act(command).type).toBe('record')
  })

  test('may change in every other field', () => {
    const change = { roles: ['ops', 'admin'], email: 'a@b.c' }
    expect(directory.act({ type: 'update_user', user: 'ANN', ...change }).type).toBe('record')
    expect(directory.act({ type: 'update_user', user: 'ANN', state: 'active' }).type).toBe('record')
  })

  test('is the last one even if an invited user has the role too', () => {
    directory.invite('eve', { roles: ['admin'] })
    expect(outcomeOf(directory.act({ type: 'remove_user', user: 'ANN' }))).toBe(refusal)
    expect(directory.act({ type: 'remove_user', user: 'EVE' }).type).toBe('record')
  })
})

describe('the first administrator', () => {
  const user: NewUser = { id: 'A1', tenant: 'default', name: 'root', email: null, roles: ['admin'] }
  const add: DirectoryCommand = { type: 'add_administrator', user, passwordHash: 'argon' }

  test('is active from the beginning, with the password in the account', () => {
    const decision = directory.act(add)
    expect(outcomeOf(decision)).toBe(true)
    expect(decision).toMatchObject({
      tells: [{ to: { kind: 'account', id: 'A1' }, command: { type: 'open', passwordHash: 'argon' } }],
    })
    expect(directory.row('A1')).toMatchObject({ state: 'active', hasPassword: true, roles: ['admin'] })
    expect(tenantRow(directory.state, 'default')).toMatchObject({ createdAt: now })
  })

  test('does not replace a user of the same name', () => {
    const directory = directoryWith('other')
    directory.add('ROOT', { tenant: 'other' })
    const before = structuredClone(directory.state)
    expect(directory.act(add)).toEqual({ type: 'answer', value: false })
    expect(directory.state).toEqual(before)
  })
})

test('only accounts store codes and passwords; the directory has no hashes of them', () => {
  directory.invite('ann')
  const user = { id: 'R', tenant: 'default', name: 'root', email: null, roles: ['admin'] }
  directory.act({ type: 'add_administrator', user, passwordHash: 'the-hash-of-it' })
  for (const bytes of directory.records.values()) {
    expect(Buffer.from(bytes).includes(Buffer.from(hash(1)))).toBe(false)
    expect(Buffer.from(bytes).includes('the-hash-of-it')).toBe(false)
  }
})
