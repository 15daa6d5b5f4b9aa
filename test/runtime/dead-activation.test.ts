import { describe, expect, test } from 'vitest'
import type { Entry } from '#model/entry'
import { Activation } from '#runtime/activation'
import { Checkpoints } from '#runtime/checkpoints'
import type { Gate } from '#runtime/gate'
import type { Registry } from '#runtime/registry'
import { StreamHead } from '#runtime/stream-head'
import { openRuntime } from '#test/runtime/runtime-fixture'
import { tallies, tallyAddress } from '#test/runtime/tally-actors'

const a = tallyAddress('A')
const responder = { answered: () => {}, refused: () => {} }

test('a turn of a dead activation throws and changes nothing', async () => {
  const fixture = await openRuntime()
  fixture.send(a, { type: 'add', add: [1] })
  const first = fixture.system.registry.awake(a)
  if (!first) throw new Error('A is asleep')
  fixture.send(a, { type: 'throw' })
  expect(() => fixture.system.turnOf(first, { type: 'add', add: [2] }, responder)).toThrow(
    'a turn of tally A, which is dead',
  )
  fixture.send(a, { type: 'add', add: [3] })
  await fixture.settle()
  expect(fixture.addedOf(a)).toEqual([
    { value: 1, offset: 1 },
    { value: 3, offset: 2 },
  ])
})

describe('a due checkpoint of a dead activation', () => {
  /** A queue with one dead actor at its head, and a registry with the given `wake`. */
  function due(wake: (make: () => Activation<Entry>) => Activation<Entry>) {
    const [definition] = tallies
    if (!definition) throw new Error('no tally')
    const make = () => new Activation(definition, a, { id: 'A', added: [], quiet: 0 }, 0)
    const head = new StreamHead<Entry>('default', 0)
    const dead = make()
    head.redo.add(dead, 1, 0)
    dead.isAlive = false
    head.redo.died(dead)
    head.taken = 100
    const registry = {
      head: () => head,
      heads: () => [head],
      wake: () => wake(make),
      recordKey: () => 'A',
      snapshot: () => null,
    }
    const failures: string[] = []
    const puts: string[] = []
    const gate = { put: (key: string) => puts.push(key), touch: () => {} }
    const checkpoints = new Checkpoints(
      registry as unknown as Registry<Entry>,
      gate as unknown as Gate<Entry>,
      { eventsMax: 10, bytesMax: 1_000_000 },
      (error) => failures.push((error as Error).message),
    )
    return { put: () => checkpoints.put(), head, puts, failures }
  }

  const killed = (make: () => Activation<Entry>) => Object.assign(make(), { isAlive: false })
  test.each<[string, (make: () => Activation<Entry>) => Activation<Entry>, string]>([
    ['that cannot be woken', () => expect.fail('unreadable'), 'unreadable'],
    ['whose next activation is dead too', killed, "tally A is dead, and can't be saved"],
    ['whose next activation does not replace it', (make) => make(), 'tally A was saved and is still queued'],
  ])('%s fails once and ends', (_, wake, message) => {
    const { put, failures } = due(wake)
    put()
    expect(failures).toEqual([message])
    put()
    expect(failures).toEqual([message, message])
  })

  test('that can be woken is saved', () => {
    const { put, head, puts, failures } = due((make) => {
      const woken = make()
      head.redo.succeed(woken)
      return woken
    })
    put()
    expect(failures).toEqual([])
    expect(puts).toEqual(['A'])
    expect(head.redo.size).toBe(0)
  })
})
