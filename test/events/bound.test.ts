import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import type { AlarmSet } from '#model/entry'
import type { DeviceBinding } from '#model/group'
import { type Grant, type Scope, scopeOf } from '#model/scope'
import { readAll, TestStream } from '#test/events/test-stream'
import { storedAlarm } from '#test/rules/stored-rules'

/**
 * Events of resources that are bound to devices. Only users with access to all of these devices receive them.
 * Contract 5.1.
 */

let stream: TestStream

beforeEach(() => {
  stream = new TestStream(400)
})

const reads = (devices: string[], ...services: string[]): Grant => ({
  permissions: { alarms: ['read'] },
  devices,
  services: services.length === 0 ? ['*'] : services,
})
const holding = (...devices: string[]) => scopeOf([reads(devices)])

function alarmSet(bound: Partial<DeviceBinding>): AlarmSet {
  return { kind: 'alarm_set', alarm: '7Lf2wZs6Dy', at: 5, stored: storedAlarm(bound) }
}

let accesses = 0
const listener = (scope: Scope, filter = {}) => ({ access: `access ${++accesses}`, scope, filter })

describe('the event of a created or changed alarm', () => {
  test('is received with access to the present members of the groups of the alarm', async () => {
    const socket = stream.connect({ listener: listener(holding('A', 'B')) })
    stream.groups.set('G1', ['B'])
    stream.publish(alarmSet({ devices: ['A'], groups: ['G1'] }))
    stream.groups.set('G1', ['B', 'C'])
    stream.publish(alarmSet({ devices: ['A'], groups: ['G1'] }))
    stream.groups.delete('G1')
    stream.publish(alarmSet({ devices: ['A'], groups: ['G1'] }))
    const whole = stream.connect({ after: 0, listener: listener(holding('*')) })
    await readAll(stream)
    expect([socket.offsets, whole.offsets]).toEqual([[1], [1, 2, 3]])
  })

  test('is received with access to the members of the groups at the time when a socket catches up', async () => {
    stream.groups.set('G1', ['A'])
    stream.publish(alarmSet({ groups: ['G1'] }))
    stream.groups.set('G1', ['B'])
    const sockets = ['A', 'B'].map((device) => stream.connect({ after: 0, listener: listener(holding(device)) }))
    await readAll(stream)
    expect(sockets.map(({ offsets }) => offsets)).toEqual([[], [1]])
  })
})

test('each socket, live or catching up, receives exactly the alarms that are bound within its grants', async () => {
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
  /** The literal rule of contract 5.1: each bound device must be in some grant with read on alarms. */
  const mayReceive = (grants: readonly Grant[], { devices: named, groups: of }: DeviceBinding): boolean => {
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
      async (listeners, alarms) => {
        stream = new TestStream(400)
        for (const [group, members] of Object.entries(groups)) stream.groups.set(group, members)
        const connect = (grants: readonly Grant[], after?: number) =>
          stream.connect({ listener: listener(scopeOf(grants)), after })
        const live = listeners.map((grants) => connect(grants))
        for (const [to, isDeleted] of alarms) {
          stream.publish(isDeleted ? { kind: 'alarm_deleted', alarm: '7Lf2wZs6Dy', at: 5, ...to } : alarmSet(to))
        }
        const late = listeners.map((grants) => connect(grants, 0))
        await readAll(stream)
        const expected = listeners.map((grants) =>
          alarms.flatMap(([to], index) => (mayReceive(grants, to) ? [index + 1] : [])),
        )
        expect([live.map(({ offsets }) => offsets), late.map(({ offsets }) => offsets)]).toEqual([expected, expected])
      },
    ),
    { numRuns: 200 },
  )
})
