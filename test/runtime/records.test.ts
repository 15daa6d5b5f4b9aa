import { beforeEach, describe, expect, test } from 'vitest'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { AnyDefinition } from '#runtime/activation'
import { type ActorAddress, type ActorDefinition, answer, type RecordChange, record } from '#runtime/actor'
import { keys } from '#store/key-space'
import { unpackRecord } from '#store/record-codec'
import { openFaulty, openRuntime, type RuntimeFixture } from '#test/runtime/runtime-fixture'
import { countRows } from '#test/store/wrapped-scans'

type Put = { readonly type: 'put'; readonly records: readonly RecordChange[] } | { readonly type: 'read' }

/** An actor whose state is its records. */
function recordActor(more: Pick<ActorDefinition<unknown, unknown, Entry>, 'kind' | 'formats' | 'fixedRecords'>) {
  const definition: ActorDefinition<Map<string, unknown>, Put, Entry> = {
    ...more,
    persistence: 'write_through',
    wake: (_, records) => new Map(records),
    apply: () => expect.fail('there are no events'),
    change(state, change) {
      const { name, value } = change as RecordChange
      if (value === null) state.delete(name)
      else state.set(name, value)
    },
    decide(state, command) {
      if (command.type === 'read') return answer(Object.fromEntries(state))
      return record([], { records: command.records })
    },
  }
  return definition
}

const format = (name: string, version = 1) => ({ name, version, upgrades: {} })
const fixed = recordActor({ kind: 'fixed', fixedRecords: ['a', 'b'], formats: { a: format('a'), b: format('b') } })
const free = recordActor({
  kind: 'free',
  formats: { plain: format('plain'), 'red/*': format('red', 2), '*': format('any', 3) },
})
const definitions = () => [fixed, free] as unknown as AnyDefinition<Entry>[]

function address(kind: 'fixed' | 'free', id: string): ActorAddress {
  return { kind, tenant: 'default', id }
}

function put(fixture: RuntimeFixture, to: ActorAddress, values: Readonly<Record<string, unknown>>): void {
  const records = Object.entries(values).map(([name, value]) => ({ name, value }))
  fixture.ask(to, { type: 'put', records } satisfies Put)
}

function look(fixture: RuntimeFixture, at: ActorAddress): unknown {
  return Object.fromEntries(fixture.system.peek(at) as Map<string, unknown>)
}

const open = () => openRuntime({ definitions })

let fixture: RuntimeFixture
beforeEach(async () => {
  fixture = await open()
})

describe('records with fixed names', () => {
  test('are found after a restart without stored names', async () => {
    put(fixture, address('fixed', 'A'), { a: 1 })
    put(fixture, address('fixed', 'B'), { a: 2, b: 3 })
    await fixture.settle()
    expect(fixture.system.registry.namedCount).toBe(0)
    fixture.crash()
    const again = await fixture.restart({ definitions })
    expect(again.system.registry.namedCount).toBe(0)
    expect(look(again, address('fixed', 'A'))).toEqual({ a: 1 })
    expect(look(again, address('fixed', 'B'))).toEqual({ a: 2, b: 3 })
    expect(look(again, address('fixed', 'C'))).toEqual({})
  })

  test('are found while they wait at the commit gate, deletions included', async () => {
    put(fixture, address('fixed', 'A'), { a: 1, b: 2 })
    await fixture.settle()
    put(fixture, address('fixed', 'A'), { a: 5, b: null })
    const activation = fixture.system.registry.awake(address('fixed', 'A'))
    if (!activation) throw new Error('not awake')
    fixture.system.registry.kill(activation)
    expect(look(fixture, address('fixed', 'A'))).toEqual({ a: 5 })
    await fixture.settle()
    expect(look(fixture, address('fixed', 'A'))).toEqual({ a: 5 })
  })

  test('keep their stored values after a failed commit', async () => {
    const { faults, fixture } = await openFaulty({ definitions })
    put(fixture, address('fixed', 'A'), { a: 1 })
    await fixture.settle()
    faults.next = { fail: 'full', reachedDisk: false }
    put(fixture, address('fixed', 'A'), { a: 2, b: 2 })
    put(fixture, address('fixed', 'N'), { a: 9 })
    await fixture.settle()
    expect(look(fixture, address('fixed', 'A'))).toEqual({ a: 1 })
    expect(look(fixture, address('fixed', 'N'))).toEqual({})
  })

  test('are the only records: a turn that writes another one fails and stores nothing', async () => {
    put(fixture, address('fixed', 'A'), { a: 1, c: 2 })
    await fixture.settle()
    expect(fixture.outputs).toEqual(['refused it bug'])
    expect(fixture.bugs).toEqual([expect.stringContaining(`fixed keeps no record called 'c'`)])
    expect(look(fixture, address('fixed', 'A'))).toEqual({})
  })

  test('are not read at a start', async () => {
    for (let id = 0; id < 500; id++) put(fixture, address('fixed', `${id}`), { a: id, b: id })
    put(fixture, address('free', 'A'), { plain: 1 })
    await fixture.settle()
    fixture.crash()
    const rowsRead = countRows(fixture.backend, 'part/')
    const again = await fixture.restart({ definitions })
    expect(rowsRead()).toBeLessThan(10)
    expect(look(again, address('free', 'A'))).toEqual({ plain: 1 })
    expect(look(again, address('fixed', '499'))).toEqual({ a: 499, b: 499 })
  })
})

test('free record names are forgotten with the last record', async () => {
  const to = address('free', 'A')
  put(fixture, to, { plain: 1, other: 2 })
  await fixture.settle()
  expect(fixture.system.registry.namedCount).toBe(1)
  put(fixture, to, { plain: null, never: null })
  await fixture.settle()
  expect(fixture.system.registry.namedCount).toBe(1)
  put(fixture, to, { other: null })
  put(fixture, address('free', 'B'), { never: null })
  await fixture.settle()
  expect(fixture.system.registry.namedCount).toBe(0)
  put(fixture, to, { plain: 7 })
  await fixture.settle()
  fixture.crash()
  expect(look(await fixture.restart({ definitions }), to)).toEqual({ plain: 7 })
})

describe('one record', () => {
  test('is read without waking its actor, pending changes included', async () => {
    const { system } = fixture
    const to = address('fixed', 'A')
    expect(system.recordOf(to, 'a')).toBeUndefined()
    put(fixture, to, { a: 1 })
    expect(system.recordOf(to, 'a')).toBe(1)
    await fixture.settle()
    system.registry.forget(system.registry.wake(to))
    expect(system.recordOf(to, 'a')).toBe(1)
    expect(system.registry.awake(to)).toBeUndefined()
    put(fixture, to, { a: 2, b: { c: [3] } })
    expect([system.recordOf(to, 'a'), system.recordOf(to, 'b')]).toEqual([2, { c: [3] }])
    // The earlier change is sealed; a later one waits.
    fixture.world.step()
    put(fixture, to, { a: null })
    expect([system.recordOf(to, 'a'), system.recordOf(to, 'b')]).toEqual([undefined, { c: [3] }])
    await fixture.settle()
    expect(system.recordOf(to, 'a')).toBeUndefined()
    expect(system.recordOf(address('fixed', 'B'), 'b')).toBeUndefined()
  })

  test('of an unknown kind of actor throws', async () => {
    put(fixture, address('free', 'A'), { plain: 1 })
    await fixture.settle()
    expect(() => fixture.system.recordOf({ ...address('free', 'A'), kind: 'other' }, 'a')).toThrow('no kind of actor')
  })

  test('is refused while the store reloads', async () => {
    fixture.system.forgetAll(new Problem('storage'))
    expect(() => fixture.system.recordOf(address('fixed', 'A'), 'a')).toThrow(Problem)
  })
})

describe('the format of a record', () => {
  test.each([
    ['plain', 1],
    ['red/rose', 2],
    ['red/', 2],
    ['red/a/b', 2],
    ['red', 3],
    ['redder/rose', 3],
    ['blue/rose', 3],
    ['/red', 3],
  ])('%s has the version %i of its name, of the part before its first slash, or of any', async (name, version) => {
    put(fixture, address('free', 'A'), { [name]: 'x' })
    await fixture.settle()
    const bytes = fixture.journal.get(keys.part(address('free', 'A'), name))
    if (!bytes) throw new Error('not stored')
    expect(unpackRecord(format('it', version), bytes)).toBe('x')
    if (version > 1) expect(() => unpackRecord(format('it', version - 1), bytes)).toThrow('newer')
    fixture.crash()
    expect(look(await fixture.restart({ definitions }), address('free', 'A'))).toEqual({ [name]: 'x' })
  })
})
