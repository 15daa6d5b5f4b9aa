import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Audiences, type EventFilter } from '#events/audience'
import { type EventType, eventKinds } from '#model/event'
import type { BindingLists } from '#model/group'
import { everything, type Grant, resources, type Scope, scopeOf } from '#model/scope'

const devices = ['A', 'AB', 'C', 'CD']
const groups: Readonly<Record<string, readonly string[]>> = { g1: ['A', 'E'], g2: ['C', 'CD'], g3: [] }
const services = ['s', 't', 'u']
const types = Object.keys(eventKinds) as EventType[]

function scopeWith(grants: readonly Grant[]): Scope {
  return scopeOf(grants, { groupOf: (id) => ({ id, edit: 1, members: new Set(groups[id]) }) })
}

function isNamed({ devices, groups: named = [] }: Grant, device: string): boolean {
  return (
    devices.some((name) => (name.endsWith('*') ? device.startsWith(name.slice(0, -1)) : name === device)) ||
    named.some((group) => groups[group]?.includes(device))
  )
}

interface Listener {
  readonly access: string
  readonly grants: readonly Grant[]
  readonly filter: EventFilter
}

/** The fields of an event that decide its receivers. */
interface Occurrence {
  readonly type: EventType
  readonly device: string | undefined
  readonly service: string | undefined
  /** The devices to which the resource of the event is bound. */
  readonly bound: BindingLists | undefined
}

/**
 * The literal rule of contract 4.2, 4.8: one grant must give read on the resource of the event, and must contain both
 * the device and the service. A filter excludes everything that it does not name. Contract 5.1: each device to which a
 * resource is bound must be in some grant.
 */
function mayReceive({ grants, filter }: Listener, { type, device, service, bound }: Occurrence): boolean {
  const { resource } = eventKinds[type]
  const allowing = grants.filter((grant) => {
    const actions = [...(grant.permissions[resource] ?? []), ...(grant.permissions['*'] ?? [])]
    const isRead = actions.includes('read') || actions.includes('*')
    const isDevice = device === undefined || isNamed(grant, device)
    const isService = service === undefined || grant.services.includes('*') || grant.services.includes(service)
    return isRead && isDevice && isService
  })
  const meant = allowing.some((grant) => grant.devices.includes('*')) ? [] : (bound ?? [])
  const isBoundWithin = meant !== '*' && meant.flat().every((name) => allowing.some((grant) => isNamed(grant, name)))
  const isWanted =
    (!filter.types || filter.types.has(type)) &&
    (!filter.devices || device === undefined || filter.devices.has(device)) &&
    (!filter.services || service === undefined || filter.services.has(service))
  return allowing.length > 0 && isBoundWithin && isWanted
}

const names = (all: string[]): fc.Arbitrary<string[]> =>
  fc.oneof(fc.constant<string[]>(['*']), fc.subarray(all), fc.subarray([...all, '*']))
const actions = fc.subarray(['create', 'read', 'update', '*'] as const).map((some) => [...some])
const grant: fc.Arbitrary<Grant> = fc.record({
  permissions: fc.dictionary(fc.constantFrom(...resources, '*'), actions, { maxKeys: 4 }) as fc.Arbitrary<
    Grant['permissions']
  >,
  devices: names([...devices, 'A*', 'C*', 'CD*']),
  groups: fc.subarray(Object.keys(groups)),
  services: names(services),
})
/** Grants that give read on every resource, so that most events have receivers. */
const readsMuch = grant.map((given): Grant => ({ ...given, permissions: { ...given.permissions, '*': ['read'] } }))
const grants = fc.array(fc.oneof(grant, readsMuch), { maxLength: 4 })

const someOf = (all: readonly string[]) =>
  fc.option(
    fc.subarray([...all]).map((some) => new Set(some)),
    { nil: undefined },
  )
const filter: fc.Arbitrary<EventFilter> = fc
  .record({ types: someOf(types), devices: someOf([...devices, 'E']), services: someOf(services) })
  .map(
    ({ types, devices, services }): EventFilter => ({
      ...(types && { types }),
      ...(devices && { devices }),
      ...(services && { services }),
    }),
  )

const occurrence: fc.Arbitrary<Occurrence> = fc
  .record({
    type: fc.constantFrom(...types),
    device: fc.constantFrom(...devices, 'E'),
    service: fc.constantFrom(...services, 'v'),
    bound: fc.oneof(
      fc.array(fc.subarray([...devices, 'E']), { minLength: 1, maxLength: 2 }),
      fc.constant('*' as const),
    ),
  })
  .map(({ type, device, service, bound }) => ({
    type,
    device: eventKinds[type].hasDevice ? device : undefined,
    service: eventKinds[type].hasService ? service : undefined,
    bound: 'isBound' in eventKinds[type] ? bound : undefined,
  }))
const occurrences = fc.array(occurrence, { minLength: 1, maxLength: 12 })

/** Expects that the receivers of each event are those of `mayReceive`. */
function expectExactly(
  audiences: Audiences,
  listeners: ReadonlyMap<string, Listener>,
  occurred: readonly Occurrence[],
) {
  for (const each of occurred) {
    const topics = audiences.receivers(each.type, each.device, each.service, each.bound).map(({ topic }) => topic)
    expect(new Set(topics).size, 'received twice').toBe(topics.length)
    const expected = [...listeners].filter(([, listener]) => mayReceive(listener, each)).map(([topic]) => topic)
    expect(topics.sort(), JSON.stringify(each)).toEqual(expected.sort())
  }
}

test('each audience receives each event that its grants and its filter allow, exactly once', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(grants, filter), { maxLength: 6 }), occurrences, (joined, occurred) => {
      const audiences = new Audiences('t')
      const listeners = new Map<string, Listener>()
      joined.forEach(([given, filter], index) => {
        const access = `access ${index}`
        const { topic } = audiences.join(access, scopeWith(given), filter)
        listeners.set(topic, { access, grants: given, filter })
      })
      expectExactly(audiences, listeners, occurred)
      // The second time, the receivers come from the cache.
      expectExactly(audiences, listeners, occurred)
    }),
    { numRuns: 500 },
  )
})

type Change =
  | { readonly what: 'join'; readonly access: number; readonly grants: readonly Grant[]; readonly filter: EventFilter }
  | { readonly what: 'leave'; readonly place: number }
  | { readonly what: 'redefine'; readonly accesses: readonly number[]; readonly grants: readonly Grant[] }

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ what: fc.constant('join' as const), access: fc.nat(2), grants, filter }),
  fc.record({ what: fc.constant('leave' as const), place: fc.nat(20) }),
  fc.record({ what: fc.constant('redefine' as const), accesses: fc.uniqueArray(fc.nat(2)), grants }),
)

test('the receivers are exact at any time while sockets join and leave, and accesses change', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(change, occurrences), { maxLength: 25 }), (changes) => {
      const audiences = new Audiences('t')
      const scopes = new Map<string, readonly Grant[]>()
      const sockets: { access: string; audience: ReturnType<Audiences['join']> }[] = []
      for (const [each, occurred] of changes) {
        if (each.what === 'join') {
          const access = `access ${each.access}`
          if (!sockets.some((socket) => socket.access === access)) scopes.set(access, each.grants)
          const given = scopes.get(access) ?? []
          sockets.push({ access, audience: audiences.join(access, scopeWith(given), each.filter) })
        } else if (each.what === 'leave') {
          const [gone] = sockets.splice(each.place % Math.max(sockets.length, 1), 1)
          if (gone) audiences.leave(gone.audience)
        } else {
          const accesses = each.accesses.map((access) => `access ${access}`)
          for (const access of accesses) scopes.set(access, each.grants)
          const changed = new Map(accesses.map((access) => [access, scopeWith(each.grants)]))
          const concerned = audiences.redefine(changed)
          for (const audience of concerned) audiences.resume(audience)
          const expected = new Set(
            sockets.filter((socket) => changed.has(socket.access)).map(({ audience }) => audience),
          )
          expect(concerned.length).toBe(expected.size)
          expect(new Set(concerned)).toEqual(expected)
        }
        const listeners = new Map(
          sockets.map(({ access, audience }) => [
            audience.topic,
            { access, grants: scopes.get(access) ?? [], filter: audience.filter },
          ]),
        )
        expect(audiences.size).toBe(listeners.size)
        expectExactly(audiences, listeners, occurred)
        for (const { audience } of sockets) {
          const same = sockets.filter((socket) => socket.audience === audience)
          expect(audience.sockets).toBe(same.length)
        }
      }
    }),
    { numRuns: 200 },
  )
})

describe('an audience', () => {
  test('is shared by sockets with the same access and filter, also if the filter has another order', () => {
    const audiences = new Audiences('t')
    const one = audiences.join('a', everything, { devices: new Set(['A', 'B']) })
    expect(audiences.join('a', everything, { devices: new Set(['B', 'A']) })).toBe(one)
    expect(one.sockets).toBe(2)
    expect(audiences.join('b', everything, { devices: new Set(['A', 'B']) })).not.toBe(one)
    expect(audiences.join('a', everything, { services: new Set(['A', 'B']) })).not.toBe(one)
    expect(audiences.join('a', everything, {})).not.toBe(one)
    expect(audiences.join('a', everything, { devices: new Set() })).not.toBe(audiences.join('a', everything, {}))
    expect(audiences.join('a', everything, { devices: new Set(['A,B']) })).not.toBe(one)
  })

  test('ends with its last socket, and a later socket gets a new topic', () => {
    const audiences = new Audiences('t')
    const one = audiences.join('a', everything, {})
    audiences.join('a', everything, {})
    audiences.leave(one)
    expect(audiences.receivers('DEVICE_ADD', 'A', undefined)).toEqual([one])
    audiences.leave(one)
    expect(audiences.receivers('DEVICE_ADD', 'A', undefined)).toEqual([])
    expect(audiences.join('a', everything, {}).topic).not.toBe(one.topic)
  })
})

test('the cache stays bounded and correct for any number of service names', () => {
  const audiences = new Audiences('t')
  const audience = audiences.join('a', everything, {})
  for (let index = 0; index < 10_000; index++) {
    expect(audiences.receivers('OBJECT_UPDATED', 'A', `s${index}`)).toEqual([audience])
  }
})

test('the devices of a large role are indexed once for all filters of its sockets', () => {
  const audiences = new Audiences('t')
  const roleOf = (name: string) => {
    const devices = Array.from({ length: 18_000 }, (_, place) => `${name}${place}`)
    return scopeOf([{ permissions: { service: ['read'] }, devices, services: ['*'] }])
  }
  const role = roleOf('A')
  // An index with separate devices for each filter would have 18 000 000 entries.
  const audiencesOfRole = Array.from({ length: 1_000 }, (_, place) =>
    audiences.join('a', role, { services: new Set([`s${place}`]) }),
  )
  expect(audiences.receivers('OBJECT_UPDATED', 'A17', 's5')).toEqual([audiencesOfRole[5]])
  const redefined = audiences.redefine(new Map([['a', roleOf('B')]]))
  expect(redefined).toHaveLength(1_000)
  for (const audience of redefined) audiences.resume(audience)
  expect(audiences.receivers('OBJECT_UPDATED', 'A17', 's5')).toEqual([])
  expect(audiences.receivers('OBJECT_UPDATED', 'B17', 's5')).toEqual([audiencesOfRole[5]])
})

test('an access that is redefined twice before it resumes uses the last scope', () => {
  const audiences = new Audiences('t')
  const audience = audiences.join('a', everything, {})
  const receivers = () => audiences.receivers('OBJECT_UPDATED', 'A', 's')
  audiences.redefine(new Map([['a', scopeOf([])]]))
  expect(receivers()).toEqual([])
  audiences.redefine(new Map([['a', everything]]))
  audiences.resume(audience)
  expect(receivers()).toEqual([audience])
})
