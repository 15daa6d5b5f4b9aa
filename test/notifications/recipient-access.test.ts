import { describe, expect, test } from 'vitest'
import type { DeliveryCause, SkipReason } from '#model/delivery'
import type { StoredFunction } from '#model/function'
import { type Grant, scopeOf } from '#model/scope'
import { mayReceive, mayReceiveAll, type StoredRecipient } from '#notifications/recipient-access'
import { ann, mailFunction } from '#test/actors/acting-tenant'

const fn: StoredFunction = {
  name: mailFunction.name,
  enabled: true,
  graph: mailFunction.graph,
  devices: ['A', 'B'],
  groups: ['hall'],
  createdBy: ann,
  createdAt: 1,
  updatedBy: ann,
  updatedAt: 1,
  edit: 1,
}

/** Exactly the permissions for all requests of the function. */
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

function skipReason({
  grants = [enough],
  recipient,
  fn: changed = {},
  device = 'A',
  cause = property,
  hall = ['C'],
}: Case) {
  return mayReceive({
    recipient: { scope: scopeOf(grants), isActive: true, address: 'ann@example.com', ...recipient },
    function: changed === null ? undefined : { ...fn, ...changed },
    request: { device, cause },
    membersOf: (group) => (group === 'hall' ? hall : undefined),
  })
}

test.each<readonly [string, Case]>([
  ['about a listed device', {}],
  ['about a device of a group', { device: 'C' }],
  [
    'about any device, if the function applies to all',
    { fn: { devices: null, groups: null }, device: 'X', grants: [{ ...enough, devices: ['*'] }] },
  ],
  ['with grants of several roles', { grants: [without('service'), without('notifications')] }],
  ['at an address beyond ASCII', { recipient: { address: 'änn@bücher.example' } }],
])('a user gets a mail: %s', (_, each) => {
  for (const cause of causes) expect(skipReason({ ...each, cause })).toBeUndefined()
})

describe('a user gets no mail', () => {
  test.each<readonly [string, SkipReason, Case]>([
    ['the function was deleted', 'unbound', { fn: null }],
    ['the function is disabled', 'unbound', { fn: { enabled: false } }],
    ['the device was removed from the function', 'unbound', { fn: { devices: ['B'] } }],
    ['the device left the group', 'unbound', { device: 'C', hall: ['D'] }],
    ['the group was removed from the function', 'unbound', { device: 'C', fn: { groups: ['other'] } }],
    ['the function applies to nothing', 'unbound', { fn: { devices: [], groups: null } }],
    ['the user is disabled', 'disabled', { recipient: { isActive: false } }],
    ['no permission for notifications', 'forbidden', { grants: [without('notifications')] }],
    ['no permission for functions', 'forbidden', { grants: [without('functions')] }],
    ['no permission for services', 'forbidden', { grants: [without('service')] }],
    ['no permission for one of the devices', 'forbidden', { grants: [{ ...enough, devices: ['A', 'C'] }] }],
    ['no permission for a device that was added to the group', 'forbidden', { hall: ['C', 'D'] }],
    ['no roles', 'forbidden', { grants: [] }],
    ['no address', 'no_address', { recipient: { address: null } }],
    ['an invalid address', 'bad_address', { recipient: { address: '"a b"@example.com' } }],
    ['two addresses', 'bad_address', { recipient: { address: 'a@b.example,c@d.example' } }],
  ])('%s: %s', (_, reason, each) => {
    for (const cause of causes) expect(skipReason({ ...each, cause })).toBe(reason)
  })

  test.each<readonly [string, Case, DeliveryCause]>([
    ['the service', { grants: [{ ...enough, services: ['heating'] }] }, property],
    ['alarms', { grants: [without('alarms')] }, alarm],
    ['metadata', { grants: [without('meta')] }, status],
    [
      'alarms of this device',
      { grants: [without('alarms'), { ...enough, permissions: { alarms: ['read'] }, devices: ['B'] }] },
      alarm,
    ],
  ])('without permission for %s only requests about it are skipped', (_, each, cause) => {
    expect(causes.map((other) => skipReason({ ...each, cause: other }))).toEqual(
      causes.map((other) => (other === cause ? 'forbidden' : undefined)),
    )
  })

  test('the first of several reasons', () => {
    const all: Case = { fn: { enabled: false }, recipient: { isActive: false, address: null }, grants: [] }
    expect(skipReason(all)).toBe('unbound')
    expect(skipReason({ ...all, fn: {} })).toBe('disabled')
    expect(skipReason({ ...all, fn: {}, recipient: { address: null } })).toBe('forbidden')
    expect(skipReason({ recipient: { address: null } })).toBe('no_address')
  })
})

describe('the number of requests that were only counted', () => {
  const triggers = [
    { id: 'property', type: 'trigger', on: 'property', serviceIdentifier: 'svc', propId: 1 },
    { id: 'alarm', type: 'trigger', on: 'alarm', alarmId: 'Z' },
    { id: 'status', type: 'trigger', on: 'status' },
  ] as const
  const membersOf = () => ['C']
  const receivable = (grants: readonly Grant[]) => {
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
    ['no metadata', [without('meta')], ['property', 'alarm']],
  ])('is for users who may receive all requests: %s', (_, grants, ofEach) => {
    expect(receivable(grants)).toEqual({ ofEach, ofAll: ofEach.length === triggers.length })
  })
})
