import { expect, test } from 'vitest'
import { Problem } from '#model/problem'
import { openStage } from '#test/runtime/stage'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'

const a = tallyAddress('A')
const b = tallyAddress('B')

test('a turn decides and applies at once, and says nothing before the commit', async () => {
  const stage = await openStage()
  stage.tell(a, { type: 'add', add: [1, 2], answer: 'done' })
  expect(stage.addedOf(a)).toEqual([
    { value: 1, offset: 1 },
    { value: 2, offset: 2 },
  ])
  expect(stage.said).toEqual([])
  await stage.settle()
  expect(stage.said).toEqual(['event default 1', 'event default 2', 'answered it "done"'])
})

test('the turn is told the tenant, the moment and the next offset', async () => {
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

test('what is said leaves in the order of the turns, refusals and answers too', async () => {
  const stage = await openStage()
  stage.tell(a, { type: 'add', add: [1], answer: 1 }, 'first')
  stage.tell(a, { type: 'look' }, 'second')
  stage.tell(b, { type: 'refuse' }, 'third')
  stage.tell(b, { type: 'add', add: [2], answer: 2 }, 'fourth')
  stage.tell(a, { type: 'throw' }, 'fifth')
  expect(stage.said).toEqual([])
  await stage.settle()
  expect(stage.said.filter((said) => !said.startsWith('event'))).toEqual([
    'answered first 1',
    'answered second [1]',
    'refused third conflict',
    'answered fourth 2',
    'refused fifth bug',
  ])
})

test('where nothing waits, what changes nothing is answered at once', async () => {
  const stage = await openStage()
  stage.tell(a, { type: 'look' }, 'look')
  stage.tell(a, { type: 'refuse' }, 'refuse')
  expect(stage.said).toEqual(['answered look []', 'refused refuse conflict'])
  expect(stage.commits).toEqual([])
})

test('an answer waits for what it may reflect, also of another actor, until it is stored and has left', async () => {
  const stage = await openStage()
  stage.tell(a, { type: 'add', add: [1] }, 'add')
  stage.tell(b, { type: 'look' }, 'look')
  // Sealed and on its way to the disk, not there yet.
  stage.world.step()
  stage.tell(b, { type: 'look' }, 'later look')
  expect(stage.said).toEqual([])
  await stage.settle()
  expect(stage.said).toEqual([
    'event default 1',
    'answered add undefined',
    'answered look []',
    'answered later look []',
  ])
})

test('effects run after the commit, in order, each after its own answer', async () => {
  const stage = await openStage()
  const effect = (name: string) => () => void stage.said.push(`effect ${name}`)
  stage.tell(a, { type: 'add', add: [1], effects: [effect('1'), effect('2')] }, 'first')
  stage.tell(b, { type: 'add', add: [1], effects: [effect('3')] }, 'second')
  expect(stage.said).toEqual([])
  await stage.settle()
  expect(stage.said.slice(2)).toEqual([
    'answered first undefined',
    'effect 1',
    'effect 2',
    'answered second undefined',
    'effect 3',
  ])
})

test('an effect or an responder that throws takes nothing from the others', async () => {
  const stage = await openStage()
  const fail = () => {
    throw new Error('an effect failed')
  }
  stage.tell(a, { type: 'add', add: [1], effects: [fail] }, 'first')
  stage.system.turn(a, { type: 'add', add: [2] }, { answered: () => fail(), refused: () => stage.said.push('never') })
  stage.tell(a, { type: 'look' }, 'third')
  await stage.settle()
  expect(stage.said.slice(2)).toEqual(['answered first undefined', 'answered third [1,2]'])
  expect(stage.bugs).toEqual(['release: an effect failed', 'release: an effect failed'])
})

test('a turn during a turn throws: its responder hears nothing, the outer one hears of a bug', async () => {
  const stage = await openStage()
  const inside = () => stage.tell(b, { type: 'add', add: [9] }, 'inner')
  stage.tell(a, { type: 'add', add: [1], inside }, 'outer')
  await stage.settle()
  expect(stage.said).toEqual(['refused outer bug'])
  expect(stage.bugs).toEqual(['a turn of tally A: a turn during a turn'])
  stage.tell(a, { type: 'add', add: [2], answer: 'fine' }, 'next')
  await stage.settle()
  expect(stage.said.slice(1)).toEqual(['event default 1', 'answered next "fine"'])
})

test('nor can whoever began it keep that to himself', async () => {
  const stage = await openStage()
  const caught: unknown[] = []
  const inside = () => {
    stage.system.ask(b, { type: 'add', add: [9] }).catch((error) => caught.push(error))
  }
  stage.tell(a, { type: 'add', add: [1], inside }, 'outer')
  await stage.settle()
  expect(caught).toEqual([new Error('a turn during a turn')])
  expect(stage.said).toEqual(['refused outer bug'])
  expect(stage.bugs).toEqual(['a turn of tally A: a turn during a turn'])
  stage.tell(a, { type: 'add', add: [2], answer: 'fine' }, 'next')
  await stage.settle()
  expect(stage.addedOf(a)).toEqual([{ value: 2, offset: 1 }])
})

test('whoever hears an answer may ask at once', async () => {
  const stage = await openStage()
  const responder = {
    answered: () => stage.tell(a, { type: 'add', add: [2] }, 'second'),
    refused: () => {},
  }
  stage.system.turn(a, { type: 'add', add: [1] }, responder)
  stage.tell(a, { type: 'look' }, 'look')
  await stage.settle()
  expect(stage.said).toEqual(['event default 1', 'answered look [1]', 'event default 2', 'answered second undefined'])
})

test('an unknown kind of actor is a bug to its responder and to nobody else', async () => {
  const stage = await openStage()
  stage.ask({ kind: 'nothing', tenant: 'default', id: 'A' }, {}, 'wrong')
  stage.tell(a, { type: 'look' }, 'right')
  expect(stage.said).toEqual(['refused wrong bug', 'answered right []'])
  expect(stage.bugs).toEqual(['waking nothing A: no actor is called nothing'])
})

test('nothing is answered before the store was read', async () => {
  const { Stage } = await import('#test/runtime/stage')
  const stage = new Stage()
  stage.tell(a, { type: 'look' }, 'early')
  expect(stage.said).toEqual(['refused early storage'])
  expect(() => stage.system.peek(a)).toThrow(Problem)
  await stage.open()
  stage.tell(a, { type: 'look' }, 'later')
  expect(stage.said.slice(1)).toEqual(['answered later []'])
})

test('ask is the same as a promise', async () => {
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

test('tenants have streams of their own, in one commit', async () => {
  const stage = await openStage()
  stage.tell(tallyAddress('A', 'one'), { type: 'add', add: [1, 2] }, 'one')
  stage.tell(tallyAddress('A', 'two'), { type: 'add', add: [3] }, 'two')
  await stage.settle()
  expect(stage.said).toEqual([
    'event one 1',
    'event one 2',
    'event two 1',
    'answered one undefined',
    'answered two undefined',
  ])
  expect(stage.commits).toHaveLength(1)
})

test('too much that waits is refused, but not what follows from what was accepted', async () => {
  const stage = await openStage({ uncommittedBytesMax: 1_000 })
  stage.tell(a, { type: 'add', add: [1] }, 'first', 1_001)
  stage.tell(a, { type: 'add', add: [2] }, 'second', 1)
  stage.tell(a, { type: 'look' }, 'look')
  stage.tell(a, { type: 'add', add: [3] }, 'owed', 0)
  expect(stage.system.gate.waitingBytes).toBe(1_001)
  await stage.settle()
  expect(stage.said).toEqual([
    'event default 1',
    'event default 2',
    'answered first undefined',
    'refused second overloaded',
    'answered look [1]',
    'answered owed undefined',
  ])
  expect(stage.system.gate.waitingBytes).toBe(0)
  stage.tell(a, { type: 'add', add: [4] }, 'later', 900)
  await stage.settle()
  expect(stage.said.at(-1)).toBe('answered later undefined')
})

test('a refused turn changes nothing', async () => {
  const stage = await openStage({ uncommittedBytesMax: 10 })
  stage.tell(a, { type: 'add', add: [1] }, 'full', 11)
  stage.tell(b, { type: 'add', add: [5], change: 7, reminder: stage.world.now(), tells: [] }, 'refused', 1)
  await stage.settle()
  expect(stage.system.peek(b)).toEqual({ id: 'B', added: [], quiet: 0 })
  expect(stage.system.reminders.count).toBe(0)
})

test('records of a written-through actor are in the commit of its events', async () => {
  const stage = await openStage()
  const address = bookAddress('K')
  stage.tell(address, { type: 'add', add: [1, 2] })
  await stage.settle()
  expect(stage.commits).toHaveLength(1)
  expect([...(stage.commits[0]?.records.keys() ?? [])]).toEqual([
    'part/book/default/K/page/1',
    'part/book/default/K/page/2',
  ])
  expect(stage.commits[0]?.streams[0]?.events).toHaveLength(2)
})

test('askAtOnce asks what it prepares, and takes no function that waits', async () => {
  const stage = await openStage()
  const answer = stage.system.askAtOnce(() => ({ to: a, command: { type: 'add', add: [1], answer: 'added' } }))
  await stage.settle()
  expect(await answer).toBe('added')
  // @ts-expect-error: a promise is no question
  await expect(stage.system.askAtOnce(async () => ({ to: a, command: { type: 'look' } }))).rejects.toThrow(TypeError)
})
