import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StoredAlarm } from '#model/alarm'
import { everything, scopeOf } from '#model/scope'
import type { ServiceSchema } from '#model/service-schema'
import { noRules, type RuleList } from '#rules/rule-list'
import { RuleViews, type TenantRules } from '#rules/tenant-rules'
import { shapeOf } from '#test/actors/acting-device'
import { forAll } from '#test/kit/for-all'
import { grants } from '#test/model/grants'
import { author, isBound, schema, storedAlarm } from '#test/rules/stored-rules'
import {
  authors,
  bindings,
  devices,
  type GroupsAndScopes,
  groupAndScopeSteps,
  tenant,
  type ViewStep,
} from '#test/rules/view-steps'
import { mayRead } from '#test/simulation/reference-filter'

interface World extends GroupsAndScopes {
  readonly alarms: Map<string, StoredAlarm>
  readonly schemas: Map<string, ServiceSchema>
}

function emptyWorld(): World {
  return { alarms: new Map(), groups: new Map(), schemas: new Map(), scopes: new Map() }
}

function viewsOf(world: World) {
  const sweeps: string[] = []
  const lines: object[] = []
  // Bindings change in steps, and the results must not depend on the progress.
  let taken = 0
  const views = new RuleViews({
    runInSlices: (step) => {
      for (let steps = taken++ % 3; steps > 0 && step(); steps--);
    },
    scopeOf: (_, reader) => world.scopes.get(reader) ?? scopeOf([]),
    sweep: (_, alarm) => sweeps.push(alarm),
    log: { info: (fields) => lines.push(fields) },
  })
  return { views, sweeps, lines }
}

const mayAuthorRead = ({ scopes }: World, { updatedBy, serviceIdentifier }: StoredAlarm, device: string) =>
  mayRead(scopes.get(updatedBy)?.grants ?? [], 'service', device, serviceIdentifier)

function plainList(world: World, device: string): string[] {
  return [...world.alarms.keys()]
    .filter((id) => {
      const alarm = world.alarms.get(id) as StoredAlarm
      return isBound(world.groups, alarm, device) && mayAuthorRead(world, alarm, device)
    })
    .sort()
}

/** The property name that all conditions read, by the schema of the service. */
function meaning({ schemas }: World, { serviceIdentifier }: StoredAlarm): string {
  return Object.keys(schemas.get(serviceIdentifier)?.properties ?? {}).join()
}

/** Everything that affects an alarm. Z is a device that no grant names. */
function plainDigest(world: World, id: string): string | undefined {
  const alarm = world.alarms.get(id)
  if (!alarm) return undefined
  const edits = alarm.groups?.map((group) => world.groups.get(group)?.edit)
  const reach = mayAuthorRead(world, alarm, 'Z') || devices.filter((device) => mayAuthorRead(world, alarm, device))
  return JSON.stringify([alarm.edit, edits, meaning(world, alarm), reach])
}

const alarmIds = fc.constantFrom('a1', 'a2', 'a3', 'a4')
const services = fc.constantFrom('x', 'y')

type Step = ViewStep<World, RuleViews>

const steps: fc.Arbitrary<Step> = fc.oneof(
  fc
    .record({ id: alarmIds, service: services, reader: authors, ...bindings })
    .map<Step>(({ id, service, reader, named, groups }) => (world, views, edit) => {
      const more = { serviceIdentifier: service, updatedBy: reader, devices: named, groups, edit }
      world.alarms.set(id, storedAlarm(more))
      views.alarmChanged(tenant, id, world.alarms.get(id))
    }),
  alarmIds.map<Step>((id) => (world, views) => {
    world.alarms.delete(id)
    views.alarmChanged(tenant, id, undefined)
  }),
  fc.tuple(services, fc.constantFrom(1, 2, null)).map<Step>(([service, propId]) => (world, views) => {
    if (propId) world.schemas.set(service, schema({ Temperature: propId }))
    else world.schemas.delete(service)
    views.schemaChanged(tenant, service, world.schemas.get(service))
  }),
  ...groupAndScopeSteps(grants),
)

test('views match the reference after any change, and report the affected alarms', () => {
  let listed = 0
  forAll([fc.array(steps, { maxLength: 30 }), fc.nat()], 150, (script, loadedAt) => {
    const world = emptyWorld()
    for (const reader of ['u1', 'u2']) world.scopes.set(reader, everything)
    const { views, sweeps } = viewsOf(world)
    views.load([])
    let before = new Map<string, { readonly signature: string; readonly list: RuleList }>()
    for (const [place, step] of script.entries()) {
      const digests = new Map([...world.alarms.keys()].map((id) => [id, plainDigest(world, id)]))
      const digestsBefore = new Map([...world.alarms.keys()].map((id) => [id, views.of(tenant)?.digestOf(id)]))
      sweeps.length = 0
      step(world, views, place + 1)
      const ids = [...new Set([...digests.keys(), ...world.alarms.keys()])]
      const changed = ids.filter((id) => digests.get(id) !== plainDigest(world, id))
      expect(ids.filter((id) => digestsBefore.get(id) !== views.of(tenant)?.digestOf(id))).toEqual(changed)
      expect(new Set(sweeps)).toEqual(new Set(changed))
      if (loadedAt % script.length === place) views.load([{ tenant, ...world }])
      const rules = views.of(tenant)
      expect(rules === undefined).toBe(world.alarms.size === 0)
      const after: typeof before = new Map()
      for (const device of [...devices, 'Z']) {
        const list = rules?.listOf(device) ?? noRules
        const wanted = plainList(world, device)
        expect(list.rules.map(({ id }) => id)).toEqual(wanted)
        const signature = JSON.stringify(
          wanted.map((id) => [id, world.alarms.get(id)?.edit, meaning(world, world.alarms.get(id) as StoredAlarm)]),
        )
        for (const other of after.values()) expect(other.list === list).toBe(other.signature === signature)
        const old = before.get(device)
        if (old && loadedAt % script.length !== place) expect(old.list === list).toBe(old.signature === signature)
        after.set(device, { signature, list })
        listed += wanted.length
      }
      before = after
      for (const id of world.alarms.keys()) {
        const alarm = world.alarms.get(id) as StoredAlarm
        const bound = rules?.boundOf(id)
        const isAll = alarm.devices === null && alarm.groups === null
        if (isAll) expect(bound).toBe('*')
        else
          expect([...new Set([...(bound ?? [])].flat())].sort()).toEqual(
            devices.filter((device) => isBound(world.groups, alarm, device)),
          )
      }
      for (const group of ['g1', 'g2']) expect(views.membersOf(tenant, group)).toEqual(world.groups.get(group)?.devices)
    }
  })
  expect(listed).toBeGreaterThan(200)
})

describe('views', () => {
  function loadedViews(stored = storedAlarm()) {
    const world = emptyWorld()
    world.scopes.set(author, everything)
    const created = viewsOf(world)
    created.views.load([{ tenant, alarms: new Map([['a1', stored]]), groups: new Map(), schemas: new Map() }])
    return { world, ...created, rules: created.views.of(tenant) as TenantRules }
  }

  test('of tenants are separate', () => {
    const { views } = loadedViews()
    views.alarmChanged('other', 'a2', storedAlarm({ devices: ['A'] }))
    expect(views.of('other')?.boundOf('a2')).toEqual([['A']])
    expect(views.of('other')?.boundOf('a1')).toBeUndefined()
    views.tenantEnded('other')
    expect(views.of('other')).toBeUndefined()
    expect(views.of(tenant)?.boundOf('a1')).toBe('*')
  })

  test('never reuse a version, even after the last alarm is removed or all are loaded again', () => {
    const { views, rules } = loadedViews()
    const versions = [rules.version]
    views.alarmChanged(tenant, 'a1', undefined)
    views.tenantEnded(tenant)
    for (const id of ['a1', 'a2']) {
      views.alarmChanged(tenant, id, storedAlarm())
      versions.push(views.of(tenant)?.version as number)
    }
    views.load([{ tenant, alarms: new Map([['a1', storedAlarm()]]), groups: new Map(), schemas: new Map() }])
    versions.push(views.of(tenant)?.version as number)
    expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b))
  })

  test('sweep the changed alarms when they are loaded again', () => {
    const { views, sweeps } = loadedViews()
    const alarms = new Map([['a1', storedAlarm()]])
    const none = { groups: new Map(), schemas: new Map() }
    views.load([{ tenant, alarms, ...none }])
    expect(sweeps).toEqual([])
    views.load([{ tenant, alarms: new Map([['a1', storedAlarm({ edit: 2 })]]), ...none }])
    expect(sweeps).toEqual(['a1'])
    views.load([{ tenant, alarms: new Map([['a2', storedAlarm()]]), ...none }])
    expect(sweeps).toEqual(['a1', 'a1', 'a2'])
    views.load([])
    expect(sweeps).toEqual(['a1', 'a1', 'a2', 'a2'])
  })

  test('log once that the author of an alarm lost the permission', () => {
    const { views, world, lines, rules, sweeps } = loadedViews()
    expect(rules.listOf('A').rules).toHaveLength(1)
    world.scopes.delete(author)
    views.accessChanged(tenant)
    views.accessChanged(tenant)
    views.schemaChanged(tenant, 'Climate', schema({ Temperature: 1 }))
    expect(rules.listOf('A')).toBe(noRules)
    expect(lines).toEqual([{ tenant, alarm: 'a1', author }])
    expect(sweeps).toEqual(['a1', 'a1'])
    world.scopes.set(author, everything)
    views.accessChanged(tenant)
    expect(rules.listOf('A').rules).toHaveLength(1)
  })

  test('do not parse a condition again when a schema changes', () => {
    let reads = 0
    const condition = new Proxy({ '>': [{ var: 'Temperature' }, 80] } as const, {
      ownKeys: (target) => {
        reads++
        return Reflect.ownKeys(target)
      },
    })
    const { views, rules, sweeps } = loadedViews(storedAlarm({ condition }))
    const climate = shapeOf('Climate', { 1: 'float', 2: 'float' })
    const evaluate = () =>
      rules
        .listOf('A')
        .of(climate)
        ?.rules[0]?.evaluate({ at: (place) => [90, 70][place] ?? null })
    expect(evaluate()).toBeUndefined()
    views.schemaChanged(tenant, 'Climate', schema({ Temperature: 1 }))
    expect(evaluate()).toBe(true)
    expect(reads).toBeGreaterThan(0)
    reads = 0
    views.schemaChanged(tenant, 'Climate', schema({ Temperature: 2 }))
    expect([evaluate(), reads, sweeps]).toEqual([false, 0, ['a1', 'a1']])
  })
})
