import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { forAllAsync } from '#test/kit/for-all'
import { during, openRuntime } from '#test/runtime/runtime-fixture'
import { type TallyCommand, tallyAddress } from '#test/runtime/tally-actors'

const a = tallyAddress('A')
const b = tallyAddress('B')
/** msgpack has no integers beyond 64 bits. */
const unpackable = 2n ** 80n

describe('a turn that throws', () => {
  test.each(['decide', 'apply'] as const)(
    'in %s is answered with an internal error and takes no offset',
    async (where) => {
      const fixture = await openRuntime()
      fixture.send(a, { type: 'add', add: [1] }, 'old')
      fixture.send(a, where === 'decide' ? { type: 'throw' } : { type: 'add', add: [2, 'poison'] }, 'bad')
      fixture.send(a, { type: 'add', add: [3], answer: 'fine' }, 'after')
      await fixture.settle()
      expect(fixture.outputs.slice(0, 2)).toEqual(['event default 1', 'event default 2'])
      expect(fixture.outputs.slice(2)).toEqual(['answered old undefined', 'refused bad bug', 'answered after "fine"'])
      expect(fixture.addedOf(a)).toEqual([
        { value: 1, offset: 1 },
        { value: 3, offset: 2 },
      ])
      expect(fixture.bugs).toEqual([`a turn of tally A: ${where === 'decide' ? 'decided to throw' : 'poisoned'}`])
    },
  )

  test.each([
    ['an event', { type: 'add', add: [2, unpackable] }],
    ['a snapshot', { type: 'add', add: [2, unpackable], isCheckpointed: true }],
  ])('because %s cannot be packed stores nothing, and all other turns continue', async (_, command) => {
    const fixture = await openRuntime()
    fixture.send(b, { type: 'add', add: [1] }, 'old')
    fixture.send(a, command as unknown as TallyCommand, 'bad')
    fixture.send(b, { type: 'add', add: [3] }, 'after')
    await fixture.settle()
    expect(fixture.outputs.slice(0, 2)).toEqual(['event default 1', 'event default 2'])
    expect(fixture.outputs.slice(2)).toEqual(['answered old undefined', 'refused bad bug', 'answered after undefined'])
    expect(fixture.addedOf(a)).toEqual([])
    expect(fixture.log).toEqual([])
    fixture.crash()
    const again = await fixture.restart()
    expect(again.valuesOf(b)).toEqual([1, 3])
  })

  test('kills its own activation only', async () => {
    const fixture = await openRuntime()
    fixture.send(a, { type: 'add', add: [1] })
    fixture.send(b, { type: 'add', add: [1] })
    const { registry } = fixture.system
    const [first, other] = [registry.awake(a), registry.awake(b)]
    fixture.send(a, { type: 'throw' })
    expect(first?.isAlive).toBe(false)
    expect(other?.isAlive).toBe(true)
    expect(registry.awake(a)).toBeUndefined()
    fixture.send(a, { type: 'read' })
    expect(registry.awake(a)).not.toBe(first)
  })

  test('leaves no partial change in the state', async () => {
    const fixture = await openRuntime()
    fixture.send(a, { type: 'add', add: [1], change: 1, isCheckpointed: true })
    const tells = [{ to: b, command: { type: 'add', add: [1] } }]
    fixture.send(a, { type: 'add', add: [2, 'poison'], change: 10, reminder: 5, tells })
    expect(fixture.system.peek(a)).toEqual({ id: 'A', added: [{ value: 1, offset: 1 }], quiet: 1 })
    await fixture.settle()
    expect(fixture.addedOf(b)).toEqual([])
    expect(fixture.system.reminders.count).toBe(0)
  })

  test('while waking an actor fails that request only', async () => {
    const fixture = await openRuntime()
    const damaged = [{ key: 'actor/tally/default/A', value: Uint8Array.of(0xc1) }]
    await during(fixture.world, fixture.journal.storage.write(damaged, { sync: false }))
    fixture.send(a, { type: 'read' }, 'damaged')
    fixture.send(b, { type: 'read' }, 'fine')
    await fixture.settle()
    expect(fixture.outputs).toEqual(['refused damaged bug', 'answered fine []'])
  })
})

const actor = fc.nat(2)
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ what: fc.constant('add'), actor, isCheckpointed: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constantFrom('throw', 'poison'), actor }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constantFrom('step', 'settle'), actor: fc.constant(0) }) },
)

test('a new activation has the state of the old one, for any actions in between', async () => {
  await forAllAsync([fc.array(step, { minLength: 1, maxLength: 40 })], 60, async (steps) => {
    const fixture = await openRuntime()
    const expected: number[][] = [[], [], []]
    let number = 0
    for (const { what, actor, ...more } of steps) {
      const address = tallyAddress(`T${actor}`)
      if (what === 'step') fixture.world.step()
      else if (what === 'settle') await fixture.settle()
      else if (what === 'throw') fixture.send(address, { type: 'throw' })
      else if (what === 'poison') fixture.send(address, { type: 'add', add: [++number, 'poison'] })
      else {
        const isCheckpointed = 'isCheckpointed' in more && more.isCheckpointed
        fixture.send(address, { type: 'add', add: [++number], isCheckpointed })
        expected[actor]?.push(number)
      }
      const activation = fixture.system.registry.awake(address)
      if (activation) fixture.system.registry.kill(activation)
      expect(fixture.valuesOf(address)).toEqual(expected[actor])
    }
    await fixture.settle()
    fixture.crash()
    const again = await fixture.restart()
    expected.forEach((values, actor) => {
      expect(again.valuesOf(tallyAddress(`T${actor}`))).toEqual(values)
    })
  })
})
