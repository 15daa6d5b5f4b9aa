import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import type { StoredAlarm } from '#model/alarm'
import type { Bound } from '#model/bound'
import type { AlarmSet } from '#model/entry'
import { everything, type Grant, type Scope, scopeOf } from '#model/scope'
import type { StallingSocket } from '#test/events/stalling-sockets'
import { readAll, ToldStream } from '#test/events/told-stream'

/** Events that name no device, but are bound to some: who reaches all of these hears them. Contract 5.1. */

let stream: ToldStream

beforeEach(() => {
  stream = new ToldStream(400)
})

const reads = (devices: string[], ...services: string[]): Grant => ({
  permissions: { alarms: ['read'] },
  devices,
  services: services.length === 0 ? ['*'] : services,
})
const holding = (...devices: string[]) => scopeOf([reads(devices)])

function alarmSet(bound: Partial<Bound>): AlarmSet {
  const stored: StoredAlarm = {
    name: 'Hot',
    severity: 'info',
    serviceIdentifier: 'svc',
    condition: { var: 'a' },
    forSeconds: 0,
    devices: null,
    groups: null,
    createdBy: 'crn#user:2Vb7qYx9Kd',
    createdAt: 1,
    updatedBy: 'crn#user:2Vb7qYx9Kd',
    updatedAt: 1,
    edit: 1,
    ...bound,
  }
  return { kind: 'alarm_set', alarm: '7Lf2wZs6Dy', at: 5, stored }
}

let accesses = 0
const listener = (scope: Scope, filter = {}) => ({ access: `access ${++accesses}`, scope, filter })
const offsets = ({ heard }: StallingSocket) => heard.filter(({ type }) => type !== 'STREAM').map(({ offset }) => offset)

describe('an alarm that is made or changed', () => {
  test('is heard by who reaches every device it is bound to, by one grant or by several together', async () => {
    const sockets = [
      everything,
      holding('A', 'B'),
      scopeOf([reads(['A'], 'x'), reads(['B'], 'y')]),
      holding('A'),
      scopeOf([reads(['A']), { permissions: { service: ['read'] }, devices: ['B'], services: ['*'] }]),
      scopeOf([]),
    ].map((scope) => stream.connect({ listener: listener(scope) }))
    stream.tell(alarmSet({ devices: ['A', 'B'] }))
    await readAll(stream)
    expect(sockets.map((socket) => offsets(socket).length)).toEqual([1, 1, 1, 0, 0, 0])
  })

  test('that is bound to all is heard by who reaches any device, one that is bound to none by whoever may read alarms', async () => {
    const sockets = [holding('*'), holding('A'), scopeOf([])].map((scope) =>
      stream.connect({ listener: listener(scope) }),
    )
    stream.tell(alarmSet({}), alarmSet({ devices: [] }))
    await readAll(stream)
    expect(sockets.map(offsets)).toEqual([[1, 2], [2], []])
  })

  test('passes a filter of devices or services, which it does not name, and no filter of types', async () => {
    const filters = [
      { devices: new Set(['Z']) },
      { services: new Set(['z']) },
      { types: new Set(['ALARM_CONFIG_UPDATE']) },
      { types: new Set(['ALARM_STATUS_ACTIVE']) },
    ]
    const sockets = filters.map((filter) => stream.connect({ listener: listener(holding('A'), filter) }))
    stream.tell(alarmSet({ devices: ['A'] }))
    await readAll(stream)
    expect(sockets.map((socket) => offsets(socket).length)).toEqual([1, 1, 1, 0])
  })

  test('is heard by its groups of now', async () => {
    const socket = stream.connect({ listener: listener(holding('A', 'B')) })
    stream.groups.set('G1', ['B'])
    stream.tell(alarmSet({ devices: ['A'], groups: ['G1'] }))
    stream.groups.set('G1', ['B', 'C'])
    stream.tell(alarmSet({ devices: ['A'], groups: ['G1'] }))
    stream.groups.delete('G1')
    stream.tell(alarmSet({ devices: ['A'], groups: ['G1'] }))
    const whole = stream.connect({ resume: { after: { epoch: 'now', offset: 0 } }, listener: listener(holding('*')) })
    await readAll(stream)
    expect([offsets(socket), offsets(whole)]).toEqual([[1], [1, 2, 3]])
  })

  test('is caught up with by the groups of then', async () => {
    stream.groups.set('G1', ['A'])
    stream.tell(alarmSet({ groups: ['G1'] }))
    stream.groups.set('G1', ['B'])
    const sockets = ['A', 'B'].map((device) =>
      stream.connect({ resume: { after: { epoch: 'now', offset: 0 } }, listener: listener(holding(device)) }),
    )
    await readAll(stream)
    expect(sockets.map(offsets)).toEqual([[], [1]])
  })

  test('that is deleted is heard by what it was bound to', async () => {
    const sockets = ['A', 'B'].map((device) => stream.connect({ listener: listener(holding(device)) }))
    stream.tell({ kind: 'alarm_deleted', alarm: '7Lf2wZs6Dy', at: 5, devices: ['A'], groups: null })
    await readAll(stream)
    expect(sockets.map(offsets)).toEqual([[1], []])
  })

  test('is heard by a socket that was given another access from then on', async () => {
    const socket = stream.connect({ listener: listener(holding('A')) })
    stream.tell(alarmSet({ devices: ['B'] }))
    stream.hub.move(socket, { access: 'other', scope: holding('B') })
    await stream.settle()
    stream.tell(alarmSet({ devices: ['B'] }), alarmSet({ devices: ['A'] }))
    await readAll(stream)
    expect(socket.heard.map(({ type, offset }) => `${type} ${offset}`)).toEqual(['RESYNC 1', 'ALARM_CONFIG_UPDATE 2'])
  })
})

test('its changes on a device are heard by who may read alarms there, whatever else it is bound to', async () => {
  const sockets = [holding('A'), holding('B')].map((scope) => stream.connect({ listener: listener(scope) }))
  const changed = { kind: 'alarm_changed', device: 'A', alarm: '7Lf2wZs6Dy', at: 5, since: 4 } as const
  stream.tell(alarmSet({ devices: ['A', 'B'] }), { ...changed, isActive: true }, { ...changed, isActive: false })
  await readAll(stream)
  expect(sockets.map(offsets)).toEqual([[2, 3], []])
  expect(sockets[0]?.heard).toEqual([
    {
      type: 'ALARM_STATUS_ACTIVE',
      timestamp: 5,
      offset: 2,
      resourceIdentifier: 'crn#alarm:7Lf2wZs6Dy',
      deviceIdentifier: 'A',
      since: 4,
    },
    expect.objectContaining({ type: 'ALARM_STATUS_INACTIVE', offset: 3 }),
  ])
})

test('live or catching up, each hears exactly what is bound within his grants', async () => {
  const devices = ['A', 'B', 'C']
  const some = fc.oneof(fc.subarray(devices), fc.constant<string[]>(['*']))
  const grant = fc.record({
    permissions: fc.constantFrom<Grant['permissions']>({ alarms: ['read'] }, { '*': ['*'] }, { alarms: ['update'] }),
    devices: some,
    services: fc.constantFrom<string[]>(['*'], ['x']),
  })
  const groups: Readonly<Record<string, readonly string[]>> = { G1: ['A'], G2: ['B', 'C'], G3: [] }
  const bound = fc.record({
    devices: fc.option(fc.subarray(devices)),
    groups: fc.option(fc.subarray(['G1', 'G2', 'G3', 'G9'])),
  })
  /** Contract 5.1 word for word: whatever is meant must lie in one grant or another that lets alarms be read. */
  const hears = (grants: readonly Grant[], { devices: named, groups: of }: Bound): boolean => {
    const readable = grants.filter(({ permissions }) => permissions.alarms?.includes('read') || permissions['*'])
    if (readable.length === 0) return false
    if (readable.some((one) => one.devices.includes('*'))) return true
    if ((named === null && of === null) || of?.includes('G9')) return false
    const meant = [...(named ?? []), ...(of ?? []).flatMap((group) => groups[group] ?? [])]
    return meant.every((device) => readable.some((one) => one.devices.includes(device)))
  }
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(grant, { maxLength: 3 }), { minLength: 1, maxLength: 4 }),
      fc.array(fc.tuple(bound, fc.boolean()), { minLength: 1, maxLength: 8 }),
      async (everybody, said) => {
        const told = new ToldStream(400)
        for (const [group, members] of Object.entries(groups)) told.groups.set(group, members)
        const connect = (grants: readonly Grant[], after?: number) =>
          told.connect({
            listener: listener(scopeOf(grants)),
            ...(after !== undefined && { resume: { after: { epoch: 'now', offset: after } } }),
          })
        const live = everybody.map((grants) => connect(grants))
        for (const [to, isDeleted] of said) {
          told.tell(isDeleted ? { kind: 'alarm_deleted', alarm: '7Lf2wZs6Dy', at: 5, ...to } : alarmSet(to))
        }
        const late = everybody.map((grants) => connect(grants, 0))
        await readAll(told)
        const expected = everybody.map((grants) =>
          said.flatMap(([to], index) => (hears(grants, to) ? [index + 1] : [])),
        )
        expect([live.map(offsets), late.map(offsets)]).toEqual([expected, expected])
      },
    ),
    { numRuns: 200 },
  )
})
