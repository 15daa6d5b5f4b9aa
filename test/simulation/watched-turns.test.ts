import { expect, test } from 'vitest'
import { ServiceState } from '#actors/device/service-state'
import { OrderedNames } from '#actors/directory/ordered-names'
import type { AnyDefinition } from '#runtime/activation'
import { Registry } from '#runtime/registry'
import { StoreJournal } from '#store/store-journal'
import { shapeOf } from '#test/actors/acting-device'
import { openRuntime } from '#test/runtime/runtime-fixture'
import { tallyAddress } from '#test/runtime/tally-actors'
import { watchTurns } from '#test/simulation/watched-turns'

type Member = 'decide' | 'apply' | 'change'

/**
 * Runs an outer and an inner actor without the server's guard. The inner actor decides during this function of the outer
 * actor; `behind`: only afterwards. Returns the reports.
 */
function reportsFor(where: Member | 'behind'): readonly string[] {
  const reports: string[] = []
  const actor = (kind: string, run: (member: Member) => void): AnyDefinition<never> => ({
    ...{ kind, persistence: 'write_through', formats: {}, wake: () => undefined },
    decide: () => {
      run('decide')
      return { type: 'answer', value: kind }
    },
    apply: () => run('apply'),
    change: () => run('change'),
  })
  const turnOf = (kind: string) => registry.definition(kind).decide(undefined, undefined, undefined as never)
  const outer = actor('outer', (member) => member === where && turnOf('inner'))
  const actors = [outer, actor('inner', () => {})]
  const registry = new Registry<never>(actors, new StoreJournal({ isSynced: false }) as never)
  watchTurns(registry, (what) => reports.push(what))
  expect(turnOf('outer')).toEqual({ type: 'answer', value: 'outer' })
  registry.definition('outer').apply(undefined, undefined as never, 1)
  registry.definition('outer').change?.(undefined, undefined)
  turnOf('inner')
  return reports
}

test.each(['decide', 'apply', 'change'] as const)('a turn during the `%s` of another is detected', (where) => {
  expect(reportsFor(where)).toEqual(['a turn of inner begins during one of outer'])
})

test('consecutive turns are valid', () => {
  expect(reportsFor('behind')).toEqual([])
})

test('a turn after one that threw, a deferred command, and a turn stopped by the guard are valid', async () => {
  const reports: string[] = []
  const stage = await openRuntime()
  watchTurns(stage.system.registry, (what) => reports.push(what))
  const [a, b] = [tallyAddress('A'), tallyAddress('B')]
  stage.send(a, { type: 'throw' }, 'thrown')
  stage.send(a, { type: 'add', add: [1], inside: () => stage.send(b, { type: 'add', add: [9] }) }, 'stopped')
  stage.send(a, { type: 'add', add: [2], tells: [{ to: b, command: { type: 'add', add: [3] } }] }, 'sent')
  await stage.settle()
  expect(stage.bugs).toHaveLength(2)
  expect([...stage.addedOf(a), ...stage.addedOf(b)].map(({ value }) => value)).toEqual([2, 3])
  expect(reports).toEqual([])
})

test.each<[string, change: (state: ReturnType<typeof someState>) => void, place: string]>([
  ['a field', (state) => Object.assign(state, { seq: 2 }), '.seq'],
  ['one more field', (state) => Object.assign(state, { more: 1 }), '.more'],
  ['a value in a map', (state) => state.alarms.set('I1', { since: 2 }), '.alarms.I1'],
  [
    'a field of a value in a map',
    (state) => Object.assign(state.alarms.get('I1') ?? {}, { since: 2 }),
    '.alarms.I1.since',
  ],
  ['a member of a set', (state) => state.names.delete('a'), '.names.a'],
  ['the order of a list', (state) => state.list.reverse(), '.list.0'],
  ['a byte', (state) => state.bytes.fill(1), '.bytes.bytes'],
  ['a name in an ordered set', (state) => state.ordered.add('c'), '.ordered.c'],
  ['a property of a service', (state) => state.services[0]?.setState(0, 2), '.services.0.0'],
])('a decision that changes %s of the state is detected', (_, change, place) => {
  const reports: string[] = []
  const state = someState()
  const actor: AnyDefinition<never> = {
    ...{ kind: 'impure', persistence: 'redo', formats: {}, wake: () => state, apply: () => {} },
    decide: () => {
      change(state)
      return { type: 'answer', value: undefined }
    },
  }
  const registry = new Registry<never>([actor], new StoreJournal({ isSynced: false }) as never)
  watchTurns(registry, (what) => reports.push(what))
  registry.definition('impure').decide(state, undefined, undefined as never)
  expect(reports).toEqual([`a decision of impure changes its state at ${place}`])
})

function someState() {
  return {
    seq: 1,
    alarms: new Map([['I1', { since: 1 }]]),
    names: new Set(['a']),
    list: [1, 2],
    bytes: new Uint8Array(2),
    ordered: new OrderedNames(),
    services: [new ServiceState(shapeOf('svc', { 1: 'uint8' }))],
  }
}
