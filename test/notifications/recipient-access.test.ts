import { describe, expect, test } from 'vitest'
import type { DeliveryCause, SkipReason } from '#model/delivery'
import type { StoredFunction } from '#model/function'
import { type Grant, scopeOf } from '#model/scope'
import { mayReceive, mayReceiveAll, type StoredRecipient } from '#notifications/recipient-access'
import { ann, told } from '#test/actors/acting-tenant'

const fn: StoredFunction = {
  name: told.name,
  enabled: true,
  graph: told.graph,
  devices: ['A', 'B'],
  groups: ['hall'],
  createdBy: ann,
  createdAt: 1,
  updatedBy: ann,
  updatedAt: 1,
  edit: 1,
}

/** Enough to hear of everything that the function finds, and not more. */
const enough: Grant = {
  permissions: { notifications: ['read'], functions: ['read'], service: ['read'], alarms: ['read'], meta: ['read'] },
  devices: ['A', 'B', 'C'],
  services: ['svc', 'heating'],
}
const without = (resource: keyof Grant['permissions']): Grant => {
  const { [resource]: _, ...permissions } = enough.permissions
  return { ...enough, permissions }
}

const property: DeliveryCause = { on: 'property', service: 'svc', propId: 1 }
const alarm: DeliveryCause = { on: 'alarm', alarm: 'Z' }
const status: DeliveryCause = { on: 'status' }
const causes = [property, alarm, status]

interface Case {
  readonly grants?: readonly Grant[]
  readonly recipient?: Partial<StoredRecipient>
  readonly fn?: Partial<StoredFunction> | null
  readonly device?: string
  readonly cause?: DeliveryCause
  readonly hall?: readonly string[]
}

function heard({ grants = [enough], recipient, fn: changed = {}, device = 'A', cause = property, hall = ['C'] }: Case) {
  return mayReceive({
    recipient: { scope: scopeOf(grants), isActive: true, address: 'ann@example.com', ...recipient },
    function: changed === null ? undefined : { ...fn, ...changed },
    request: { device, cause },
    membersOf: (group) => (group === 'hall' ? hall : undefined),
  })
}

describe('somebody hears of it', () => {
  test.each<readonly [string, Case]>([
    ['of a device that is named', {}],
    ['of a device of a group', { device: 'C' }],
    [
      'of any device, where it is about all',
      { fn: { devices: null, groups: null }, device: 'X', grants: [{ ...enough, devices: ['*'] }] },
    ],
    ['by several roles together', { grants: [without('service'), without('notifications')] }],
    ['at an address beyond ASCII', { recipient: { address: 'änn@bücher.example' } }],
  ])('%s', (_, each) => {
    for (const cause of causes) expect(heard({ ...each, cause })).toBeUndefined()
  })
})

describe('somebody does not hear of it, and the reason is', () => {
  test.each<readonly [string, SkipReason, Case]>([
    ['the function is gone', 'unbound', { fn: null }],
    ['it is disabled', 'unbound', { fn: { enabled: false } }],
    ['it names the device no more', 'unbound', { fn: { devices: ['B'] } }],
    ['the device left the group', 'unbound', { device: 'C', hall: ['D'] }],
    ['the group is gone', 'unbound', { device: 'C', fn: { groups: ['other'] } }],
    ['it is bound to nothing', 'unbound', { fn: { devices: [], groups: null } }],
    ['he may not sign in', 'disabled', { recipient: { isActive: false } }],
    ['he reads no notifications', 'forbidden', { grants: [without('notifications')] }],
    ['he reads no functions', 'forbidden', { grants: [without('functions')] }],
    ['he reads no service', 'forbidden', { grants: [without('service')] }],
    ['he reads one of the devices no more', 'forbidden', { grants: [{ ...enough, devices: ['A', 'C'] }] }],
    ['a device came to the group that he does not read', 'forbidden', { hall: ['C', 'D'] }],
    ['he has no roles', 'forbidden', { grants: [] }],
    ['he has no address', 'no_address', { recipient: { address: null } }],
    ['no mail goes to his address', 'bad_address', { recipient: { address: '"a b"@example.com' } }],
    ['his address is two', 'bad_address', { recipient: { address: 'a@b.example,c@d.example' } }],
  ])('%s: %s', (_, reason, each) => {
    for (const cause of causes) expect(heard({ ...each, cause })).toBe(reason)
  })

  test.each<readonly [string, Case, DeliveryCause]>([
    ['another service', { grants: [{ ...enough, services: ['heating'] }] }, property],
    ['alarms of this device', { grants: [without('alarms')] }, alarm],
    ['what is said about this device', { grants: [without('meta')] }, status],
    [
      'alarms of others only',
      { grants: [without('alarms'), { ...enough, permissions: { alarms: ['read'] }, devices: ['B'] }] },
      alarm,
    ],
  ])('he reads %s: only what he is told by that', (_, each, cause) => {
    expect(causes.map((other) => heard({ ...each, cause: other }))).toEqual(
      causes.map((other) => (other === cause ? 'forbidden' : undefined)),
    )
  })

  test('the first of several', () => {
    const all: Case = { fn: { enabled: false }, recipient: { isActive: false, address: null }, grants: [] }
    expect(heard(all)).toBe('unbound')
    expect(heard({ ...all, fn: {} })).toBe('disabled')
    expect(heard({ ...all, fn: {}, recipient: { address: null } })).toBe('forbidden')
    expect(heard({ recipient: { address: null } })).toBe('no_address')
  })
})

describe('how much happened that is not kept', () => {
  const triggers = [
    { id: 'property', type: 'trigger', on: 'property', serviceIdentifier: 'svc', propId: 1 },
    { id: 'alarm', type: 'trigger', on: 'alarm', alarmId: 'Z' },
    { id: 'status', type: 'trigger', on: 'status' },
  ] as const
  const membersOf = () => ['C']
  const toldTo = (grants: readonly Grant[]) => {
    const scope = scopeOf(grants)
    const ofEach = triggers.filter((node) =>
      mayReceiveAll(scope, { ...fn, graph: { nodes: [node], edges: [] } }, membersOf),
    )
    const ofAll = mayReceiveAll(scope, { ...fn, graph: { nodes: triggers, edges: [] } }, membersOf)
    return { ofEach: ofEach.map(({ id }) => id), ofAll }
  }
  const ofAlarms = (devices: string[]): Grant => ({ ...enough, permissions: { alarms: ['read'] }, devices })

  test.each<readonly [string, readonly Grant[], readonly string[]]>([
    ['everything', [enough], ['property', 'alarm', 'status']],
    ['no notifications', [without('notifications')], []],
    ['another service', [{ ...enough, services: ['heating'] }], ['alarm', 'status']],
    ['no alarms', [without('alarms')], ['property', 'status']],
    ['alarms of some of the devices', [without('alarms'), ofAlarms(['A', 'C'])], ['property', 'status']],
    ['alarms by another role', [without('alarms'), ofAlarms(['A', 'B', 'C'])], ['property', 'alarm', 'status']],
    ['nothing that is said about devices', [without('meta')], ['property', 'alarm']],
  ])('is told to recipient reads %s, of what he reads everywhere', (_, grants, ofEach) => {
    expect(toldTo(grants)).toEqual({ ofEach, ofAll: ofEach.length === triggers.length })
  })
})
