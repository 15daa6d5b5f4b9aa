import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StoredFunction } from '#model/function'
import type { GraphNode } from '#model/graph'
import { everything, type Grant, scopeOf } from '#model/scope'
import { type AuthorTriggers, type FunctionList, noFunctions, type ShapedTrigger } from '#rules/function-list'
import { FunctionViews } from '#rules/function-views'
import { shapeOf } from '#test/actors/acting-device'
import { forAll } from '#test/kit/for-all'
import { grantsOn } from '#test/model/grants'
import { graphOf, heatGraph, storedFunction } from '#test/rules/stored-functions'
import { author, edits, isBound, storedGroup } from '#test/rules/stored-rules'
import { atOnce } from '#test/rules/synchronous-slices'
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
  readonly functions: Map<string, StoredFunction>
}

function emptyWorld(): World {
  return { functions: new Map(), groups: new Map(), scopes: new Map() }
}

function viewsOf(world: World) {
  const lines: object[] = []
  const views = new FunctionViews({
    mailsPerHourMax: 60,
    scopeOf: (_, reader) => world.scopes.get(reader) ?? scopeOf([]),
    runInSlices: atOnce,
    log: { info: (fields) => lines.push(fields) },
  })
  return { views, lines }
}

function loaded(world: World) {
  return { tenant, templates: new Map(), ...world }
}

const climate = shapeOf('x', { 7: 'float', 8: 'float' })

const nodes: readonly GraphNode[] = [
  { id: 'x', type: 'trigger', on: 'property', serviceIdentifier: 'x', propId: 8 },
  { id: 'y', type: 'trigger', on: 'property', serviceIdentifier: 'y', propId: 1 },
  { id: 'siren', type: 'trigger', on: 'alarm', alarmId: '8Hj4wRt6Zp' },
  { id: 'gone', type: 'trigger', on: 'status' },
]
const hourly: GraphNode = { id: 'hourly', type: 'throttle', seconds: 3_600 }

/** Graphs with some of the triggers. */
const graphs = fc
  .subarray([...nodes], { minLength: 1 })
  .map((triggers) => graphOf([hourly, ...triggers], triggers.map(({ id }) => `${id} hourly`).join(', ')))

function mayTrigger(grants: readonly Grant[], node: GraphNode, device: string): boolean {
  if (node.type !== 'trigger' || !mayRead(grants, 'functions', device)) return false
  if (node.on === 'property') return mayRead(grants, 'service', device, node.serviceIdentifier)
  return mayRead(grants, node.on === 'alarm' ? 'alarms' : 'meta', device)
}

/** The expected list of a device: `function/node` for triggers, `function meta` for readable metadata. */
function plainList(world: World, device: string): string[] {
  return [...world.functions].flatMap(([id, stored]) => {
    const { enabled, graph, updatedBy } = stored
    if (!enabled || !isBound(world.groups, stored, device)) return []
    const grants = world.scopes.get(updatedBy)?.grants ?? []
    const triggers = graph.nodes.filter((node) => mayTrigger(grants, node, device))
    if (triggers.length === 0) return []
    const isMeta = mayRead(grants, 'meta', device)
    return [...triggers.map((node) => `${id}/${node.id}`), ...(isMeta ? [`${id} meta`] : [])]
  })
}

function inOrder(byAuthor: readonly AuthorTriggers[]): readonly ShapedTrigger[] {
  return byAuthor.flatMap(({ triggers }) => triggers)
}

/** The contents of a list, in the form of `plainList`. */
function listed(world: World, list: FunctionList): string[] {
  const y = shapeOf('y', { 1: 'bool' })
  const triggers = [climate, y].flatMap((of) => list.of(of)?.flatMap((each) => each ?? []) ?? [])
  return [
    ...inOrder([...triggers, ...list.ofAlarm('8Hj4wRt6Zp'), ...list.ofStatus]).map(
      ({ rule, trigger }) => `${rule.id}/${world.functions.get(rule.id)?.graph.nodes[trigger]?.id}`,
    ),
    ...list.rules.filter((rule) => list.mayReadMeta(rule)).map(({ id }) => `${id} meta`),
  ]
}

const somewhere: Grant = { permissions: { '*': ['read'] }, devices: ['A', 'B'], services: ['x'] }

const functionIds = fc.constantFrom('f1', 'f2', 'f3', 'f4')

type Step = ViewStep<World, FunctionViews>

const steps: fc.Arbitrary<Step> = fc.oneof(
  fc
    .record({
      id: functionIds,
      reader: authors,
      enabled: fc.constantFrom(true, true, false),
      ...bindings,
      graph: fc.option(graphs),
    })
    .map<Step>(({ id, reader, enabled, named, groups, graph }) => (world, views, edit) => {
      const before = world.functions.get(id)?.graph ?? graphOf(nodes.slice(0, 1))
      const more = { enabled, updatedBy: reader, devices: named, groups, graph: graph ?? before, edit }
      world.functions.set(id, storedFunction(more))
      views.functionChanged(tenant, id, world.functions.get(id))
    }),
  functionIds.map<Step>((id) => (world, views) => {
    world.functions.delete(id)
    views.functionChanged(tenant, id, undefined)
  }),
  ...groupAndScopeSteps(grantsOn('functions', 'service', 'alarms', 'meta')),
)

test('views equal those of a reference after single changes and after loading', () => {
  let total = 0
  let partial = 0
  forAll([fc.array(steps, { maxLength: 30 })], 150, (script) => {
    const world = emptyWorld()
    world.scopes.set('u1', everything).set('u2', scopeOf([somewhere]))
    const { views } = viewsOf(world)
    views.load([])
    let version = 0
    let before = new Map<string, { readonly plain: string; readonly version: number }>()
    for (const [place, step] of script.entries()) {
      step(world, views, place + 1)
      const reloaded = viewsOf(world).views
      reloaded.load([loaded(world)])
      const view = views.of(tenant)
      expect(view === undefined).toBe([...world.functions.values()].every(({ enabled }) => !enabled))
      expect(view?.version ?? version).toBeGreaterThanOrEqual(version)
      version = view?.version ?? version
      const after: typeof before = new Map()
      const lists = new Map<string, FunctionList>()
      for (const device of [...devices, 'Z']) {
        const list = view?.listOf(device) ?? noFunctions
        const wanted = plainList(world, device).sort()
        expect(listed(world, list).sort()).toEqual(wanted)
        expect(listed(world, reloaded.of(tenant)?.listOf(device) ?? noFunctions).sort()).toEqual(wanted)
        const graphs = list.rules.map(({ id }) => world.functions.get(id)?.graph)
        const plain = JSON.stringify([wanted, graphs])
        // A turn that caches the version may cache its list.
        const old = before.get(device)
        if (old?.version === version && view) expect(old.plain).toBe(plain)
        for (const [other, same] of lists) {
          const isAlike = after.get(other)?.plain === plain
          expect(same === list).toBe(isAlike)
        }
        after.set(device, { plain, version })
        lists.set(device, list)
        total += wanted.length
        const isPartial = ({ id }: { readonly id: string }) => {
          const triggersOf = (world.functions.get(id)?.graph.nodes.length ?? 0) - 1
          return wanted.filter((name) => name.startsWith(`${id}/`)).length < triggersOf
        }
        if (list.rules.some(isPartial)) partial++
      }
      before = after
      for (const id of ['f1', 'f2', 'f3', 'f4']) expect(views.storedOf(tenant, id)).toBe(world.functions.get(id))
      for (const group of ['g1', 'g2']) {
        expect(views.membersOf(tenant, group)).toEqual(world.groups.get(group)?.devices)
      }
    }
  })
  expect(total).toBeGreaterThan(100)
  expect(partial).toBeGreaterThan(3)
})

describe('views', () => {
  function loadedViews(stored = storedFunction()) {
    const world = emptyWorld()
    world.scopes.set(author, everything)
    world.functions.set('f1', stored)
    const created = viewsOf(world)
    created.views.load([loaded(world)])
    return { world, ...created }
  }
  const listOf = (views: FunctionViews, device = 'A') => views.of(tenant)?.listOf(device) ?? noFunctions

  test('can be loaded again', () => {
    const { views } = loadedViews()
    views.load([{ tenant, functions: new Map([['f2', storedFunction()]]), groups: new Map(), templates: new Map() }])
    expect(listOf(views).rules.map(({ id }) => id)).toEqual(['f2'])
    expect(views.storedOf(tenant, 'f1')).toBeUndefined()
    views.load([])
    expect(views.of(tenant)).toBeUndefined()
  })

  test('of tenants are separate and can be removed', () => {
    const { views } = loadedViews()
    views.functionChanged('other', 'f2', storedFunction({ devices: ['A'] }))
    views.groupChanged('other', 'g1', storedGroup(['A']))
    expect([views.storedOf(tenant, 'f2'), views.membersOf(tenant, 'g1')]).toEqual([undefined, undefined])
    views.overflows.add('other', 'f2', 1)
    views.tenantEnded('other')
    expect(views.of('other') ?? views.storedOf('other', 'f2') ?? views.membersOf('other', 'g1')).toBeUndefined()
    expect(views.overflows.drain()).toEqual([])
    expect(listOf(views).rules).toHaveLength(1)
  })

  test('contain templates', () => {
    const { views } = loadedViews()
    const template = { locales: { en: { subject: 'a', text: 'b' } }, ...edits }
    views.templateChanged(tenant, 'a', template)
    expect(views.templateOf(tenant, 'a')).toBe(template)
    expect([views.templateOf(tenant, 'b'), views.templateOf('other', 'a')]).toEqual([undefined, undefined])
    views.templateChanged(tenant, 'a', undefined)
    expect(views.templateOf(tenant, 'a')).toBeUndefined()
    views.load([{ tenant, functions: new Map(), groups: new Map(), templates: new Map([['b', template]]) }])
    expect(views.templateOf(tenant, 'b')).toBe(template)
  })

  test('never reuse a version, even after the last function is removed or all are loaded again', () => {
    const { views, world } = loadedViews()
    const versions = [views.of(tenant)?.version as number]
    views.functionChanged(tenant, 'f1', storedFunction({ enabled: false }))
    expect(views.of(tenant)).toBeUndefined()
    views.functionChanged(tenant, 'f1', storedFunction())
    versions.push(views.of(tenant)?.version as number)
    views.tenantEnded(tenant)
    views.functionChanged(tenant, 'f1', storedFunction())
    versions.push(views.of(tenant)?.version as number)
    views.load([loaded(world)])
    versions.push(views.of(tenant)?.version as number)
    expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b))
  })

  test('log once that the author of a function lost the permission', () => {
    const { views, world, lines } = loadedViews()
    expect(listOf(views).rules).toHaveLength(1)
    world.scopes.delete(author)
    views.accessChanged(tenant)
    views.accessChanged(tenant)
    views.functionChanged(tenant, 'f1', storedFunction({ name: 'Hot' }))
    expect(listOf(views)).toBe(noFunctions)
    expect(lines).toEqual([{ tenant, function: 'f1', author }])
    world.scopes.set(author, everything)
    views.accessChanged(tenant)
    expect(listOf(views).rules).toHaveLength(1)
  })

  test('keep the version unless a dependency of an enabled function changes', () => {
    const { views, world } = loadedViews()
    const version = views.of(tenant)?.version
    world.scopes.set('crn#user:3Vb7qYx9Kd', everything)
    views.accessChanged(tenant)
    views.functionChanged(tenant, 'f2', storedFunction({ enabled: false }))
    views.functionChanged(tenant, 'f2', undefined)
    views.groupChanged(tenant, 'g1', storedGroup(['A']))
    expect(views.of(tenant)?.version).toBe(version)
    world.scopes.set(author, scopeOf([{ permissions: { '*': ['*'] }, devices: ['A'], services: ['*'] }]))
    views.accessChanged(tenant)
    expect(views.of(tenant)?.version).not.toBe(version)
    expect([listOf(views, 'A').rules.length, listOf(views, 'B')]).toEqual([1, noFunctions])
  })

  test('keep the compiled graph and the list if another field is edited', () => {
    const { views } = loadedViews()
    const [list, version] = [listOf(views), views.of(tenant)?.version]
    views.functionChanged(tenant, 'f1', storedFunction({ name: 'Hot', edit: 2 }))
    expect(views.of(tenant)?.version).not.toBe(version)
    expect(listOf(views)).toBe(list)
    const graph = graphOf(heatGraph.nodes.slice(0, 1))
    views.functionChanged(tenant, 'f1', storedFunction({ graph, edit: 3 }))
    expect(listOf(views)).not.toBe(list)
    expect(listOf(views).rules[0]?.graph).not.toBe(list.rules[0]?.graph)
  })

  test('keep the request rate of a function when it is edited', () => {
    const { views } = loadedViews()
    const now = 1_790_000_000_000
    const takenOf = () => {
      const rate = listOf(views).rules[0]?.rate
      let taken = 0
      for (; rate?.mayTake(now, 0, 0); taken++) rate.take(now, 1)
      return taken
    }
    expect(takenOf()).toBe(256)
    views.functionChanged(tenant, 'f1', storedFunction({ graph: graphOf(heatGraph.nodes.slice(0, 1)), edit: 2 }))
    expect(takenOf()).toBe(0)
    views.functionChanged(tenant, 'f1', storedFunction({ enabled: false, edit: 3 }))
    views.functionChanged(tenant, 'f1', storedFunction({ edit: 4 }))
    expect(takenOf()).toBe(0)
    views.overflows.add(tenant, 'f1', 1)
    views.functionChanged(tenant, 'f1', undefined)
    expect(views.overflows.drain()).toEqual([])
    views.functionChanged(tenant, 'f1', storedFunction())
    expect(takenOf()).toBe(256)
  })

  test('find the triggers of each property of a shape', () => {
    const property = { type: 'trigger', on: 'property', serviceIdentifier: 'x' } as const
    const triggers = [8, 8, 9].map((propId, place): GraphNode => ({ ...property, id: 'abc'.charAt(place), propId }))
    const graph = graphOf([hourly, ...triggers], 'a hourly, b hourly, c hourly')
    const { views } = loadedViews(storedFunction({ graph }))
    const list = listOf(views)
    const byPlace = list.of(climate)
    const places = byPlace?.map((triggers) => triggers && inOrder(triggers).map(({ trigger }) => trigger))
    expect(places).toEqual([undefined, [1, 2]])
    for (const other of [shapeOf('x', { 7: 'float' }), shapeOf('y', { 8: 'float' })]) {
      expect([list.of(climate), list.of(other)]).toEqual([byPlace, undefined])
    }
    expect(list.of(climate)).toEqual(byPlace)
    expect([list.ofAlarm('8Hj4wRt6Zp'), list.ofStatus]).toEqual([[], []])
    expect([...(list.rules[0]?.throttles ?? [])]).toEqual(['f1/hourly'])
  })
})
