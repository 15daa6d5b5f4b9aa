import { expect, test } from 'vitest'
import { Problem } from '#model/problem'
import { openStage, RuntimeFixture } from '#test/runtime/runtime-fixture'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'

const a = tallyAddress('A')
const b = tallyAddress('B')

test('a turn decides and applies at once, and answers after the commit', async () => {
  const stage = await openStage()
  stage.send(a, { type: 'add', add: [1, 2], answer: 'done' })
  expect(stage.addedOf(a)).toEqual([
    { value: 1, offset: 1 },
    { value: 2, offset: 2 },
  ])
  expect(stage.outputs).toEqual([])
  await stage.settle()
  expect(stage.outputs).toEqual(['event default 1', 'event default 2', 'answered it "done"'])
})

test('a turn receives the tenant, the time and random bytes', async () => {
  const seen: unknown[] = []
  const stage = await openStage({
    definitions: () => [
      {
        kind: 'watcher',
        persistence: 'write_through',
        formats: {},
        wake: () => undefined,
        apply: () => {},
        decide: (_, command, turn) => {
          const { tenant, now } = turn
          seen.push({ tenant, now, chance: turn.random(2).length })
          return { type: 'record', events: command as never }
        },
      },
    ],
  })
  const event = { kind: 'schema_deleted', service: 's', at: 1 }
  stage.ask({ kind: 'watcher', tenant: 'one', id: 'w' }, [event, event])
  stage.ask({ kind: 'watcher', tenant: 'two', id: 'w' }, [event])
  stage.world.spend(5)
  stage.ask({ kind: 'watcher', tenant: 'one', id: 'w' }, [])
  const now = stage.world.now()
  expect(seen).toEqual([
    { tenant: 'one', now: now - 5, chance: 2 },
    { tenant: 'two', now: now - 5, chance: 2 },
    { tenant: 'one', now, chance: 2 },
  ])
})

test('answers, refusals and errors are sent in the order of the turns', async () => {
  const stage = await openStage()
  stage.send(a, { type: 'add', add: [1], answer: 1 }, 'first')
  stage.send(a, { type: 'read' }, 'second')
  stage.send(b, { type: 'refuse' }, 'third')
  stage.send(b, { type: 'add', add: [2], answer: 2 }, 'fourth')
  stage.send(a, { type: 'throw' }, 'fifth')
  expect(stage.outputs).toEqual([])
  await stage.settle()
  expect(stage.outputs.filter((line) => !line.startsWith('event'))).toEqual([
    'answered first 1',
    'answered second [1]',
    'refused third conflict',
    'answered fourth 2',
    'refused fifth bug',
  ])
})

test('a turn without changes is answered at once if no commit is pending', async () => {
  const stage = await openStage()
  stage.send(a, { type: 'read' }, 'read')
  stage.send(a, { type: 'refuse' }, 'refuse')
  expect(stage.outputs).toEqual(['answered read []', 'refused refuse conflict'])
  expect(stage.commits).toEqual([])
})

test('an answer waits until all earlier turns, of other actors too, are stored and released', async () => {
  const stage = await openStage()
  stage.send(a, { type: 'add', add: [1] }, 'add')
  stage.send(b, { type: 'read' }, 'read')
  // The commit is sealed, but not written yet.
  stage.world.step()
  stage.send(b, { type: 'read' }, 'later read')
  expect(stage.outputs).toEqual([])
  await stage.settle()
  expect(stage.outputs).toEqual([
    'event default 1',
    'answered add undefined',
    'answered read []',
    'answered later read []',
  ])
})

test('effects run after the commit, in order, each after the answer of its turn', async () => {
  const stage = await openStage()
  const effect = (name: string) => () => void stage.outputs.push(`effect ${name}`)
  stage.send(a, { type: 'add', add: [1], effects: [effect('1'), effect('2')] }, 'first')
  stage.send(b, { type: 'add', add: [1], effects: [effect('3')] }, 'second')
  expect(stage.outputs).toEqual([])
  await stage.settle()
  expect(stage.outputs.slice(2)).toEqual([
    'answered first undefined',
    'effect 1',
    'effect 2',
    'answered second undefined',
    'effect 3',
  ])
})

test('an effect or responder that throws does not affect the others', async () => {
  const stage = await openStage()
  const fail = () => {
    throw new Error('an effect failed')
  }
  stage.send(a, { type: 'add', add: [1], effects: [fail] }, 'first')
  stage.system.turn(
    a,
    { type: 'add', add: [2] },
    { answered: () => fail(), refused: () => stage.outputs.push('never') },
  )
  stage.send(a, { type: 'read' }, 'third')
  await stage.settle()
  expect(stage.outputs.slice(2)).toEqual(['answered first undefined', 'answered third [1,2]'])
  expect(stage.bugs).toEqual(['release: an effect failed', 'release: an effect failed'])
})

test.each([
  ['throws', (stage: RuntimeFixture) => stage.send(b, { type: 'add', add: [9] }, 'inner')],
  ['rejects', (stage: RuntimeFixture) => void stage.system.ask(b, { type: 'add', add: [9] }).catch(() => undefined)],
])('a turn during a turn %s, and the outer turn fails', async (_, start) => {
  const stage = await openStage()
  stage.send(a, { type: 'add', add: [1], inside: () => start(stage) }, 'outer')
  await stage.settle()
  expect(stage.outputs).toEqual(['refused outer bug'])
  expect(stage.bugs).toEqual(['a turn of tally A: a turn during a turn'])
  stage.send(a, { type: 'add', add: [2], answer: 'fine' }, 'next')
  await stage.settle()
  expect(stage.outputs.slice(1)).toEqual(['event default 1', 'answered next "fine"'])
})

test('a responder may start a turn', async () => {
  const stage = await openStage()
  const responder = {
    answered: () => stage.send(a, { type: 'add', add: [2] }, 'second'),
    refused: () => {},
  }
  stage.system.turn(a, { type: 'add', add: [1] }, responder)
  stage.send(a, { type: 'read' }, 'read')
  await stage.settle()
  expect(stage.outputs).toEqual([
    'event default 1',
    'answered read [1]',
    'event default 2',
    'answered second undefined',
  ])
})

test('a request to an unknown kind of actor fails, and others continue', async () => {
  const stage = await openStage()
  stage.ask({ kind: 'nothing', tenant: 'default', id: 'A' }, {}, 'wrong')
  stage.send(a, { type: 'read' }, 'right')
  expect(stage.outputs).toEqual(['refused wrong bug', 'answered right []'])
  expect(stage.bugs).toEqual(['waking nothing A: no actor is called nothing'])
})

test('requests are refused until the store is loaded', async () => {
  const stage = new RuntimeFixture()
  stage.send(a, { type: 'read' }, 'early')
  expect(stage.outputs).toEqual(['refused early storage'])
  expect(() => stage.system.peek(a)).toThrow(Problem)
  await stage.open()
  stage.send(a, { type: 'read' }, 'later')
  expect(stage.outputs.slice(1)).toEqual(['answered later []'])
})

test('ask returns a promise of the answer', async () => {
  const stage = await openStage()
  const asked = stage.system.ask(a, { type: 'add', add: [1], answer: 'yes' })
  const refused = stage.system.ask(a, { type: 'refuse' })
  const both = Promise.allSettled([asked, refused])
  await stage.settle()
  expect(await both).toEqual([
    { status: 'fulfilled', value: 'yes' },
    { status: 'rejected', reason: new Problem('conflict') },
  ])
})

test('streams of several tenants share a commit', async () => {
  const stage = await openStage()
  stage.send(tallyAddress('A', 'one'), { type: 'add', add: [1, 2] }, 'one')
  stage.send(tallyAddress('A', 'two'), { type: 'add', add: [3] }, 'two')
  await stage.settle()
  expect(stage.outputs).toEqual([
    'event one 1',
    'event one 2',
    'event two 1',
    'answered one undefined',
    'answered two undefined',
  ])
  expect(stage.commits).toHaveLength(1)
})

test('turns are refused while too many bytes wait, except turns that follow from accepted ones', async () => {
  const stage = await openStage({ uncommittedBytesMax: 1_000 })
  stage.send(a, { type: 'add', add: [1] }, 'first', 1_001)
  stage.send(a, { type: 'add', add: [2] }, 'second', 1)
  stage.send(a, { type: 'read' }, 'read')
  stage.send(a, { type: 'add', add: [3] }, 'owed', 0)
  stage.send(b, { type: 'add', add: [5], change: 7, reminder: stage.world.now(), tells: [] }, 'refused', 1)
  expect(stage.system.peek(b)).toEqual({ id: 'B', added: [], quiet: 0 })
  expect(stage.system.reminders.count).toBe(0)
  expect(stage.system.gate.waitingBytes).toBe(1_001)
  await stage.settle()
  expect(stage.outputs).toEqual([
    'event default 1',
    'event default 2',
    'answered first undefined',
    'refused second overloaded',
    'answered read [1]',
    'answered owed undefined',
    'refused refused overloaded',
  ])
  expect(stage.system.gate.waitingBytes).toBe(0)
  stage.send(a, { type: 'add', add: [4] }, 'later', 900)
  await stage.settle()
  expect(stage.outputs.at(-1)).toBe('answered later undefined')
})

test('the records of a write-through actor are in the commit of its events', async () => {
  const stage = await openStage()
  const address = bookAddress('K')
  stage.send(address, { type: 'add', add: [1, 2] })
  await stage.settle()
  expect(stage.commits).toHaveLength(1)
  expect([...(stage.commits[0]?.records.keys() ?? [])]).toEqual([
    'part/book/default/K/page/1',
    'part/book/default/K/page/2',
  ])
  expect(stage.commits[0]?.streams[0]?.events).toHaveLength(2)
})

test('askAtOnce sends the command that its function returns, and rejects async functions', async () => {
  const stage = await openStage()
  const answer = stage.system.askAtOnce(() => ({ to: a, command: { type: 'add', add: [1], answer: 'added' } }))
  await stage.settle()
  expect(await answer).toBe('added')
  // @ts-expect-error: the function must not return a promise
  await expect(stage.system.askAtOnce(async () => ({ to: a, command: { type: 'read' } }))).rejects.toThrow(TypeError)
})
