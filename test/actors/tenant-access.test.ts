import { beforeEach, describe, expect, test } from 'vitest'
import type { TenantCommand, TenantCommands } from '#actors/tenant/commands'
import { keysMax } from '#actors/tenant/keys'
import { rolesMax } from '#actors/tenant/roles'
import { isExpired, type KeyKind } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { builtInRoles } from '#model/role'
import type { Grant } from '#model/scope'
import type { Decision } from '#runtime/actor'
import { hash } from '#test/actors/acting-account'
import { now, outcomeOf, sentCommandsOf, turnAt } from '#test/actors/acting-actor'
import { ActingTenant, ann } from '#test/actors/acting-tenant'

const reads: Grant = { permissions: { service: ['read'] }, devices: ['A'], services: ['*'] }
const writes: Grant = { permissions: { '*': ['*'] }, devices: ['*'], services: ['svc'] }

class AccessTenant extends ActingTenant {
  put(role: string, ...grants: Grant[]): Decision<Entry> {
    return this.act({ type: 'put_role', role, grants })
  }

  addApiKey(id: string, more: Partial<TenantCommands['add_api_key']> = {}): Decision<Entry> {
    return this.act({ type: 'add_api_key', id, name: `api ${id}`, hash: hash(1), roles: [], expiresAt: null, ...more })
  }

  addProvisioningKey(id: string, more: Partial<TenantCommands['add_provisioning_key']> = {}): Decision<Entry> {
    const key = { id, name: `prov ${id}`, hash: hash(2), expiresAt: null, maxDevices: null }
    return this.act({ type: 'add_provisioning_key', ...key, ...more })
  }

  admit(device: string, key?: string): Decision<Entry> {
    return this.act({ type: 'admit_device', device, meta: {}, ...(key !== undefined && { key }) })
  }

  devicesOf(key: string): number | undefined {
    return this.state.provisioningKeys.get(key)?.devices
  }
}

let tenant: AccessTenant
beforeEach(() => {
  tenant = new AccessTenant()
})

describe('a role', () => {
  test('is created, changed, and changed back', () => {
    expect(outcomeOf(tenant.put('ops', reads))).toEqual({ isNew: true })
    expect(tenant.state.roles.get('ops')).toMatchObject({ grants: [reads], since: -1 })
    expect(outcomeOf(tenant.put('ops', structuredClone(reads)))).toEqual({ isNew: false })
    expect(outcomeOf(tenant.put('ops', writes))).toEqual({ isNew: false })
    expect(tenant.state.roles.get('ops')).toMatchObject({ grants: [writes], since: null })
    expect(tenant.notices.received).toEqual(['role t/ops since -1', 'role t/ops since null'])
  })

  test('holds from an offset that is added after the last edit', () => {
    const edit = () => tenant.state.roles.get('ops')?.edit ?? -1
    const settle = (of: number, since: number) =>
      tenant.act({ type: 'role_settled', role: 'ops', edit: of, since }).type === 'record'
    tenant.put('ops', reads)
    // A new role already has an offset, because no event was published for it before.
    expect(settle(edit(), 5)).toBe(false)
    tenant.put('ops', writes)
    const first = edit()
    tenant.put('ops', reads, writes)
    expect(settle(first, 5)).toBe(false)
    expect(tenant.state.roles.get('ops')?.since).toBeNull()
    expect(settle(edit(), 6)).toBe(true)
    expect(tenant.state.roles.get('ops')).toMatchObject({ since: 6, grants: [reads, writes] })
    expect(settle(edit(), 7)).toBe(false)
    tenant.act({ type: 'delete_role', role: 'ops' })
    expect(settle(edit(), 8)).toBe(false)
  })

  test('that was deleted and created again ignores the offset of an earlier edit', () => {
    tenant.put('ops', reads)
    tenant.put('ops', writes)
    const before = tenant.state.roles.get('ops')?.edit ?? -1
    tenant.act({ type: 'delete_role', role: 'ops' })
    tenant.put('ops', reads)
    tenant.put('ops', writes)
    expect(tenant.act({ type: 'role_settled', role: 'ops', edit: before, since: 3 }).type).toBe('answer')
    expect(tenant.state.roles.get('ops')?.since).toBeNull()
  })

  test.each(Object.keys(builtInRoles))('%s is built in and cannot be changed or deleted', (role) => {
    expect(outcomeOf(tenant.put(role, reads))).toBe('conflict: the role is built in')
    expect(outcomeOf(tenant.act({ type: 'delete_role', role }))).toBe('conflict: the role is built in')
  })

  test('cannot be deleted while an API key has it', () => {
    tenant.put('ops', reads)
    tenant.addApiKey('K1', { roles: ['viewer', 'ops'] })
    expect(outcomeOf(tenant.act({ type: 'delete_role', role: 'ops' }))).toBe('conflict: the role is in use')
    tenant.act({ type: 'delete_key', kind: 'api_key', id: 'K1' })
    tenant.notices.lines.length = 0
    expect(tenant.act({ type: 'delete_role', role: 'ops' }).type).toBe('record')
    expect(tenant.notices.received).toEqual(['role t/ops gone'])
    expect(tenant.records.size).toBe(0)
    expect(outcomeOf(tenant.act({ type: 'delete_role', role: 'ops' }))).toBe('not_found: Not Found')
  })

  test(`is refused above ${rolesMax}, but existing ones may change`, () => {
    const { definition, state } = new AccessTenant()
    for (let index = 0; index < rolesMax; index++) state.roles.set(`r${index}`, { grants: [reads], since: -1, edit: 0 })
    const put = (role: string): Decision<Entry> =>
      definition.decide(state, { type: 'put_role', role, grants: [writes] }, turnAt())
    expect(outcomeOf(put('more'))).toBe(`conflict: a tenant has at most ${rolesMax} roles`)
    expect(put('r7').type).toBe('record')
    state.roles.delete('r8')
    expect(put('more').type).toBe('record')
  })
})

describe.each<KeyKind>(['api_key', 'provisioning_key'])('a key of kind %s', (kind) => {
  const add = (tenant: AccessTenant, id: string, expiresAt: number | null = null) =>
    kind === 'api_key' ? tenant.addApiKey(id, { expiresAt }) : tenant.addProvisioningKey(id, { expiresAt })
  const keysOf = ({ state }: AccessTenant): ReadonlyMap<string, unknown> =>
    kind === 'api_key' ? state.apiKeys : state.provisioningKeys

  test('exists from its creation until its deletion', () => {
    expect(outcomeOf(add(tenant, 'K1'))).toMatchObject({ createdAt: now, expiresAt: null })
    expect(outcomeOf(add(tenant, 'K1'))).toBe('conflict: the id is taken')
    expect(tenant.notices.received).toEqual([])
    // The subscriptions of an API key end with the key.
    const erased = kind === 'api_key' ? ['subscriber/t/K1 erase'] : []
    expect(sentCommandsOf(tenant.act({ type: 'delete_key', kind, id: 'K1' }))).toEqual(erased)
    expect(tenant.notices.received).toEqual([`${kind} t/K1 ended`])
    expect(tenant.records.size).toBe(0)
    expect(outcomeOf(tenant.act({ type: 'delete_key', kind, id: 'K1' }))).toBe('not_found: Not Found')
  })

  test('cannot be deleted as a key of the other kind', () => {
    add(tenant, 'K1')
    const other = kind === 'api_key' ? 'provisioning_key' : 'api_key'
    expect(outcomeOf(tenant.act({ type: 'delete_key', kind: other, id: 'K1' }))).toBe('not_found: Not Found')
  })

  test('expires by a reminder, which is then set for the next key', () => {
    add(tenant, 'K0')
    expect(tenant.reminder).toBeNull()
    add(tenant, 'K2', now + 2_000)
    add(tenant, 'K1', now + 1_000)
    add(tenant, 'K3', now + 3_000)
    expect(tenant.reminder).toBe(now + 1_000)
    tenant.at = now + 999
    tenant.act({ type: 'reminder_due', dueAt: tenant.at })
    expect(tenant.notices.received).toEqual([])
    expect(tenant.reminder).toBe(now + 1_000)
    tenant.at = now + 2_000
    const decision = tenant.act({ type: 'reminder_due', dueAt: tenant.at })
    expect(sentCommandsOf(decision)).toHaveLength(kind === 'api_key' ? 2 : 0)
    expect(tenant.notices.received.sort()).toEqual([`${kind} t/K1 ended`, `${kind} t/K2 ended`])
    expect([...keysOf(tenant).keys()]).toEqual(['K0', 'K3'])
    expect(tenant.reminder).toBe(now + 3_000)
    tenant.at = now + 3_000
    tenant.act({ type: 'reminder_due', dueAt: tenant.at })
    expect(tenant.reminder).toBeNull()
  })

  test(`is refused above ${keysMax}`, () => {
    const { definition, state } = new AccessTenant()
    const stored = { name: 'k', hash: hash(1), createdAt: 0, expiresAt: null }
    for (let index = 0; index < keysMax; index++) {
      if (kind === 'api_key') state.apiKeys.set(`K${index}`, { ...stored, roles: [] })
      else state.provisioningKeys.set(`K${index}`, { ...stored, maxDevices: null, devices: 0 })
    }
    const key = { id: 'more', name: 'more', hash: hash(1), expiresAt: null }
    const command: TenantCommand =
      kind === 'api_key'
        ? { type: 'add_api_key', ...key, roles: [] }
        : { type: 'add_provisioning_key', ...key, maxDevices: null }
    expect(outcomeOf(definition.decide(state, command, turnAt()))).toBe(
      `conflict: a tenant has at most ${keysMax} ${kind === 'api_key' ? 'API keys' : 'provisioning keys'}`,
    )
    if (kind === 'api_key') state.apiKeys.delete('K5')
    else state.provisioningKeys.delete('K5')
    expect(definition.decide(state, command, turnAt()).type).toBe('record')
  })
})

describe('a quota limits authors who do not reach all devices to a tenth', () => {
  const fault = (what: string) =>
    `conflict: a user who does not reach all devices can create at most 100 of the 1000 ${what} of a tenant: delete one, or ask a user who reaches all devices`

  test('of roles', () => {
    const put = (role: string, author: string, isNarrow: boolean) =>
      outcomeOf(tenant.act({ type: 'put_role', role, grants: [reads], author, isNarrow }))
    for (let count = 0; count < 100; count++) put(`r${count}`, ann, true)
    expect(put('more', ann, true)).toBe(fault('roles'))
    expect(put('r5', ann, true)).toEqual({ isNew: false })
    expect([put('of ben', 'crn#user:ben', true), put('wide', ann, false)]).toEqual([{ isNew: true }, { isNew: true }])
    tenant.act({ type: 'delete_role', role: 'r5' })
    expect(put('more', ann, true)).toBe(fault('roles'))
    tenant.act({ type: 'delete_role', role: 'r6' })
    expect(put('more', ann, true)).toEqual({ isNew: true })
  })

  test('of API keys, including those that were made with their keys', () => {
    const createdBy = (user: string) => ({ createdBy: { tenant: 't', user }, isNarrow: true })
    tenant.addApiKey('K', createdBy(ann))
    for (let count = 1; count < 100; count++)
      tenant.addApiKey(`K${count}`, createdBy(count % 2 === 0 ? ann : 'crn#key:K'))
    for (const maker of [ann, 'crn#key:K', 'crn#key:K1'])
      expect(outcomeOf(tenant.addApiKey('more', createdBy(maker)))).toBe(fault('API keys'))
    expect(tenant.addApiKey('of ben', createdBy('crn#user:ben')).type).toBe('record')
  })
})

test('an expired key does not end keys of the other kind, even if they have the same id', () => {
  tenant.addApiKey('K1', { expiresAt: now + 5 })
  tenant.addProvisioningKey('K1', { expiresAt: now + 9 })
  tenant.at = now + 5
  tenant.act({ type: 'reminder_due', dueAt: tenant.at })
  expect(tenant.notices.received).toEqual(['api_key t/K1 ended'])
  expect([tenant.state.apiKeys.size, tenant.state.provisioningKeys.size]).toEqual([0, 1])
  expect(tenant.reminder).toBe(now + 9)
})

test.each([
  [null, now, false],
  [now + 1, now, false],
  [now, now, true],
  [now - 1, now, true],
])('a key that expires at %s is expired at %i: %s', (expiresAt, at, expected) => {
  expect(isExpired({ name: 'k', hash: hash(1), createdAt: 0, expiresAt }, at)).toBe(expected)
})

describe('a provisioning key', () => {
  test('registers as many devices as its limit', () => {
    tenant.addProvisioningKey('P', { maxDevices: 2 })
    const command = { type: 'add', flakeAddress: 1, registrar: 'P' }
    expect(tenant.admit('A', 'P')).toMatchObject({ tells: [{ to: { kind: 'device', id: 'A' }, command }] })
    expect(tenant.devicesOf('P')).toBe(1)
    expect(tenant.admit('B', 'P').type).toBe('record')
    const before = structuredClone(tenant.state)
    expect(outcomeOf(tenant.admit('C', 'P'))).toBe('forbidden: Forbidden')
    expect(tenant.state).toEqual(before)
    // A device that was added without the key does not count.
    expect(tenant.admit('C').type).toBe('record')
    expect(tenant.devicesOf('P')).toBe(2)
  })

  test('may register another device after one is removed', () => {
    tenant.addProvisioningKey('P', { maxDevices: 1 })
    tenant.admit('A', 'P')
    tenant.act({ type: 'device_gone', key: 'P' })
    expect(tenant.devicesOf('P')).toBe(0)
    expect(tenant.state.counters.devices).toBe(0)
    expect(tenant.admit('B', 'P').type).toBe('record')
    tenant.act({ type: 'device_gone' })
    expect(tenant.devicesOf('P')).toBe(1)
  })

  test('never has a count below zero, and registers nothing after its deletion', () => {
    tenant.addProvisioningKey('P')
    tenant.act({ type: 'device_gone', key: 'P' })
    expect([tenant.devicesOf('P'), tenant.state.counters.devices]).toEqual([0, 0])
    tenant.act({ type: 'delete_key', kind: 'provisioning_key', id: 'P' })
    tenant.act({ type: 'device_gone', key: 'P' })
    expect(tenant.state.provisioningKeys.size).toBe(0)
    expect(outcomeOf(tenant.admit('A', 'P'))).toBe('forbidden: Forbidden')
  })

  test.each<[string, (tenant: AccessTenant) => void]>([
    ['never existed', () => {}],
    ['expired, but has not been removed yet', (tenant) => tenant.addProvisioningKey('P', { expiresAt: now + 5 })],
    ['has a limit of zero', (tenant) => tenant.addProvisioningKey('P', { maxDevices: 0 })],
    ['is an API key', (tenant) => tenant.addApiKey('P')],
  ])('registers no device if it %s', (_, prepare) => {
    prepare(tenant)
    tenant.at = now + 5
    expect(outcomeOf(tenant.admit('A', 'P'))).toBe('forbidden: Forbidden')
    expect(tenant.state.counters).toEqual({ lastFlakeAddress: 0, devices: 0 })
  })

  test('registers a device with the secret of the request', () => {
    tenant.addProvisioningKey('P')
    const decision = tenant.act({ type: 'admit_device', device: 'A', meta: { a: 1 }, key: 'P', secretHash: hash(9) })
    expect(decision).toMatchObject({
      tells: [{ command: { type: 'add', flakeAddress: 1, meta: { a: 1 }, registrar: 'P', secretHash: hash(9) } }],
    })
    const alone = tenant.record({ type: 'admit_device', device: 'B', meta: {} })
    expect(alone.tells?.[0]?.command).toEqual({ type: 'add', flakeAddress: 2, meta: {} })
  })
})
