import { beforeEach, expect, test } from 'vitest'
import { Problem } from '#model/problem'
import { openRuntime, RuntimeFixture } from '#test/runtime/runtime-fixture'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'

const a = tallyAddress('A')
const b = tallyAddress('B')

let fixture: RuntimeFixture
beforeEach(async () => {
  fixture = await openRuntime()
})

test('a turn decides and applies at once, and answers after the commit', async () => {
  fixture.send(a, { type: 'add', add: [1, 2], answer: 'done' })
  expect(fixture.addedOf(a)).toEqual([
    { value: 1, offset: 1 },
    { value: 2, offset: 2 },
  ])
  expect(fixture.outputs).toEqual([])
  await fixture.settle()
  expect(fixture.outputs).toEqual(['event default 1', 'event default 2', 'answered it "done"'])
})

test('a turn receives the tenant, the time and random bytes', async () => {
  const contexts: unknown[] = []
  const fixture = await openRuntime({
    definitions: () => [
      {
        kind: 'watcher',
        persistence: 'write_through',
        formats: {},
        wake: () => undefined,
        apply: () => {},
        decide(_, command, { tenant, now, random }) {
          contexts.push(`${tenant} ${now} ${random(2).length}`)
          return { type: 'record', events: command as never }
        },
      },
    ],
  })
  const event = { kind: 'schema_deleted', service: 's', at: 1 }
  fixture.ask({ kind: 'watcher', tenant: 'one', id: 'w' }, [event, event])
  fixture.ask({ kind: 'watcher', tenant: 'two', id: 'w' }, [event])
  fixture.world.spend(5)
  fixture.ask({ kind: 'watcher', tenant: 'one', id: 'w' }, [])
  const now = fixture.world.now()
  expect(contexts).toEqual([`one ${now - 5} 2`, `two ${now - 5} 2`, `one ${now} 2`])
})

test('answers, refusals and errors are sent in the order of the turns', async () => {
  fixture.send(a, { type: 'add', add: [1], answer: 1 }, 'first')
  fixture.send(a, { type: 'read' }, 'second')
  fixture.send(b, { type: 'refuse' }, 'third')
  fixture.send(b, { type: 'add', add: [2], answer: 2 }, 'fourth')
  fixture.send(a, { type: 'throw' }, 'fifth')
  expect(fixture.outputs).toEqual([])
  await fixture.settle()
  const answers = fixture.outputs.filter((line) => !line.startsWith('event'))
  expect(answers.slice(0, 3)).toEqual(['answered first 1', 'answered second [1]', 'refused third conflict'])
  expect(answers.slice(3)).toEqual(['answered fourth 2', 'refused fifth bug'])
})

test('a turn without changes is answered at once if no commit is pending', async () => {
  fixture.send(a, { type: 'read' }, 'read')
  fixture.send(a, { type: 'refuse' }, 'refuse')
  expect(fixture.outputs).toEqual(['answered read []', 'refused refuse conflict'])
  expect(fixture.commits).toEqual([])
})

test('an answer waits until all earlier turns, of other actors too, are stored and released', async () => {
  fixture.send(a, { type: 'add', add: [1] }, 'add')
  fixture.send(b, { type: 'read' }, 'read')
  // The commit is sealed, but not written yet.
  fixture.world.step()
  fixture.send(b, { type: 'read' }, 'later read')
  expect(fixture.outputs).toEqual([])
  await fixture.settle()
  expect(fixture.outputs[0]).toBe('event default 1')
  expect(fixture.outputs.slice(1)).toEqual(['answered add undefined', 'answered read []', 'answered later read []'])
})

test('effects run after the commit, in order, each after the answer of its turn', async () => {
  const effect = (name: string) => () => void fixture.outputs.push(`effect ${name}`)
  fixture.send(a, { type: 'add', add: [1], effects: [effect('1'), effect('2')] }, 'first')
  fixture.send(b, { type: 'add', add: [1], effects: [effect('3')] }, 'second')
  expect(fixture.outputs).toEqual([])
  await fixture.settle()
  expect(fixture.outputs.slice(2)).toEqual([
    'answered first undefined',
    'effect 1',
    'effect 2',
    'answered second undefined',
    'effect 3',
  ])
})

test('an effect or responder that throws does not affect the others', async () => {
  const fail = () => {
    throw new Error('an effect failed')
  }
  fixture.send(a, { type: 'add', add: [1], effects: [fail] }, 'first')
  const responder = { answered: () => fail(), refused: () => fixture.outputs.push('never') }
  fixture.system.turn(a, { type: 'add', add: [2] }, responder)
  fixture.send(a, { type: 'read' }, 'third')
  await fixture.settle()
  expect(fixture.outputs.slice(2)).toEqual(['answered first undefined', 'answered third [1,2]'])
  expect(fixture.bugs).toEqual(['release: an effect failed', 'release: an effect failed'])
})

test.each<[string, (fixture: RuntimeFixture) => void]>([
  ['throws', (fixture) => fixture.send(b, { type: 'add', add: [9] }, 'inner')],
  ['rejects', (fixture) => void fixture.system.ask(b, { type: 'add', add: [9] }).catch(() => undefined)],
])('a turn during a turn %s, and the outer turn fails', async (_, start) => {
  fixture.send(a, { type: 'add', add: [1], inside: () => start(fixture) }, 'outer')
  await fixture.settle()
  expect(fixture.outputs).toEqual(['refused outer bug'])
  expect(fixture.bugs).toEqual(['a turn of tally A: a turn during a turn'])
  fixture.send(a, { type: 'add', add: [2], answer: 'fine' }, 'next')
  await fixture.settle()
  expect(fixture.outputs.slice(1)).toEqual(['event default 1', 'answered next "fine"'])
})

test('a responder may start a turn', async () => {
  const responder = { answered: () => fixture.send(a, { type: 'add', add: [2] }, 'second'), refused: () => {} }
  fixture.system.turn(a, { type: 'add', add: [1] }, responder)
  fixture.send(a, { type: 'read' }, 'read')
  await fixture.settle()
  expect(fixture.outputs.slice(0, 2)).toEqual(['event default 1', 'answered read [1]'])
  expect(fixture.outputs.slice(2)).toEqual(['event default 2', 'answered second undefined'])
})

test('a request to an unknown kind of actor fails, and others continue', async () => {
  fixture.ask({ kind: 'nothing', tenant: 'default', id: 'A' }, {}, 'wrong')
  fixture.send(a, { type: 'read' }, 'right')
  expect(fixture.outputs).toEqual(['refused wrong bug', 'answered right []'])
  expect(fixture.bugs).toEqual(['waking nothing A: there is no kind of actor named nothing'])
})

test('requests are refused until the store is loaded', async () => {
  const fixture = new RuntimeFixture()
  fixture.send(a, { type: 'read' }, 'early')
  expect(fixture.outputs).toEqual(['refused early storage'])
  expect(() => fixture.system.peek(a)).toThrow(Problem)
  await fixture.open()
  fixture.send(a, { type: 'read' }, 'later')
  expect(fixture.outputs.slice(1)).toEqual(['answered later []'])
})

test('ask returns a promise of the answer', async () => {
  const asked = fixture.system.ask(a, { type: 'add', add: [1], answer: 'yes' })
  const refused = fixture.system.ask(a, { type: 'refuse' })
  const both = Promise.allSettled([asked, refused])
  await fixture.settle()
  expect(await both).toEqual([
    { status: 'fulfilled', value: 'yes' },
    { status: 'rejected', reason: new Problem('conflict') },
  ])
})

test('streams of several tenants share a commit', async () => {
  fixture.send(tallyAddress('A', 'one'), { type: 'add', add: [1, 2] }, 'one')
  fixture.send(tallyAddress('A', 'two'), { type: 'add', add: [3] }, 'two')
  await fixture.settle()
  expect(fixture.outputs.slice(0, 3)).toEqual(['event one 1', 'event one 2', 'event two 1'])
  expect(fixture.outputs.slice(3)).toEqual(['answered one undefined', 'answered two undefined'])
  expect(fixture.commits).toHaveLength(1)
})

test('turns are refused while too many bytes wait, except turns that follow from accepted ones', async () => {
  const fixture = await openRuntime({ uncommittedBytesMax: 1_000 })
  fixture.send(a, { type: 'add', add: [1] }, 'first', 1_001)
  fixture.send(a, { type: 'add', add: [2] }, 'second', 1)
  fixture.send(a, { type: 'read' }, 'read')
  fixture.send(a, { type: 'add', add: [3] }, 'owed', 0)
  fixture.send(b, { type: 'add', add: [5], change: 7, reminder: fixture.world.now(), tells: [] }, 'refused', 1)
  expect(fixture.system.peek(b)).toBeUndefined()
  expect(fixture.system.reminders.count).toBe(0)
  expect(fixture.system.gate.waitingBytes).toBe(1_001)
  await fixture.settle()
  expect(fixture.outputs).toEqual([
    'event default 1',
    'event default 2',
    'answered first undefined',
    'refused second overloaded',
    'answered read [1]',
    'answered owed undefined',
    'refused refused overloaded',
  ])
  expect(fixture.system.gate.waitingBytes).toBe(0)
  fixture.send(a, { type: 'add', add: [4] }, 'later', 900)
  await fixture.settle()
  expect(fixture.outputs.at(-1)).toBe('answered later undefined')
})

test('the records of a write-through actor are in the commit of its events', async () => {
  const address = bookAddress('K')
  fixture.send(address, { type: 'add', add: [1, 2] })
  await fixture.settle()
  expect(fixture.commits).toHaveLength(1)
  const keys = [...(fixture.commits[0]?.records.keys() ?? [])]
  expect(keys).toEqual([1, 2].map((number) => `part/book/default/K/page/${number}`))
  expect(fixture.commits[0]?.streams[0]?.events).toHaveLength(2)
})

test('askAtOnce sends the command that its function returns, and rejects async functions', async () => {
  const answer = fixture.system.askAtOnce(() => ({ to: a, command: { type: 'add', add: [1], answer: 'added' } }))
  await fixture.settle()
  expect(await answer).toBe('added')
  // @ts-expect-error: the function must not return a promise
  await expect(fixture.system.askAtOnce(async () => ({ to: a, command: { type: 'read' } }))).rejects.toThrow(TypeError)
})
