import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { during, openStage } from '#test/runtime/stage'
import { type TallyCommand, tallyAddress } from '#test/runtime/tally-actors'

const a = tallyAddress('A')
const b = tallyAddress('B')
/** msgpack has no integers beyond 64 bits. */
const unpackable = 2n ** 80n

describe('a turn that throws', () => {
  test.each(['decide', 'apply'] as const)('in %s is a bug to its responder, and takes no offset', async (where) => {
    const stage = await openStage()
    stage.tell(a, { type: 'add', add: [1] }, 'before')
    stage.tell(a, where === 'decide' ? { type: 'throw' } : { type: 'add', add: [2, 'poison'] }, 'bad')
    stage.tell(a, { type: 'add', add: [3], answer: 'fine' }, 'after')
    await stage.settle()
    expect(stage.said).toEqual([
      'event default 1',
      'event default 2',
      'answered before undefined',
      'refused bad bug',
      'answered after "fine"',
    ])
    expect(stage.addedOf(a)).toEqual([
      { value: 1, offset: 1 },
      { value: 3, offset: 2 },
    ])
    expect(stage.bugs).toEqual([`a turn of tally A: ${where === 'decide' ? 'decided to throw' : 'poisoned'}`])
  })

  test.each([
    ['an event', { type: 'add', add: [2, unpackable] }],
    ['a snapshot', { type: 'add', add: [2, unpackable], isCheckpointed: true }],
  ])('by %s that cannot be packed stores nothing, and every other turn goes on', async (_, command) => {
    const stage = await openStage()
    stage.tell(b, { type: 'add', add: [1] }, 'before')
    stage.tell(a, command as unknown as TallyCommand, 'bad')
    stage.tell(b, { type: 'add', add: [3] }, 'after')
    await stage.settle()
    expect(stage.said).toEqual([
      'event default 1',
      'event default 2',
      'answered before undefined',
      'refused bad bug',
      'answered after undefined',
    ])
    expect(stage.addedOf(a)).toEqual([])
    expect(stage.log).toEqual([])
    stage.crash()
    const again = await stage.reborn()
    expect(again.addedOf(b).map(({ value }) => value)).toEqual([1, 3])
  })

  test('costs its activation its life, and no other', async () => {
    const stage = await openStage()
    stage.tell(a, { type: 'add', add: [1] })
    stage.tell(b, { type: 'add', add: [1] })
    const { registry } = stage.system
    const [first, other] = [registry.awake(a), registry.awake(b)]
    stage.tell(a, { type: 'throw' })
    expect(first?.isAlive).toBe(false)
    expect(other?.isAlive).toBe(true)
    expect(registry.awake(a)).toBeUndefined()
    stage.tell(a, { type: 'look' })
    expect(registry.awake(a)).not.toBe(first)
  })

  test('leaves nothing half done in the state', async () => {
    const stage = await openStage()
    stage.tell(a, { type: 'add', add: [1], change: 1, isCheckpointed: true })
    stage.tell(a, {
      type: 'add',
      add: [2, 'poison'],
      change: 10,
      reminder: 5,
      tells: [{ to: b, command: { type: 'add', add: [1] } }],
    })
    expect(stage.system.peek(a)).toEqual({ id: 'A', added: [{ value: 1, offset: 1 }], quiet: 1 })
    await stage.settle()
    expect(stage.addedOf(b)).toEqual([])
    expect(stage.system.reminders.count).toBe(0)
  })

  test('while waking is a bug to the responder alone', async () => {
    const stage = await openStage()
    const damaged = [{ key: 'actor/tally/default/A', value: Uint8Array.of(0xc1) }]
    await during(stage.world, stage.journal.storage.write(damaged, { sync: false }))
    stage.tell(a, { type: 'look' }, 'damaged')
    stage.tell(b, { type: 'look' }, 'fine')
    await stage.settle()
    expect(stage.said).toEqual(['refused damaged bug', 'answered fine []'])
  })
})

/** One thing that may happen to a few actors, between others. */
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ what: fc.constant('add' as const), who: fc.nat(2), isCheckpointed: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constantFrom('throw' as const, 'poison' as const), who: fc.nat(2) }) },
  {
    weight: 3,
    arbitrary: fc.record({ what: fc.constantFrom('step' as const, 'settle' as const), who: fc.constant(0) }),
  },
)

test('whatever happens in between, a new activation stands where the old one stood', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
      const stage = await openStage()
      const expected: number[][] = [[], [], []]
      let number = 0
      for (const { what, who, ...more } of steps) {
        const address = tallyAddress(`T${who}`)
        if (what === 'step') stage.world.step()
        else if (what === 'settle') await stage.settle()
        else if (what === 'throw') stage.tell(address, { type: 'throw' })
        else if (what === 'poison') stage.tell(address, { type: 'add', add: [++number, 'poison'] })
        else {
          stage.tell(address, {
            type: 'add',
            add: [++number],
            isCheckpointed: 'isCheckpointed' in more && more.isCheckpointed,
          })
          expected[who]?.push(number)
        }
        const activation = stage.system.registry.awake(address)
        if (activation) stage.system.registry.kill(activation)
        expect(stage.addedOf(address).map(({ value }) => value)).toEqual(expected[who])
      }
      await stage.settle()
      stage.crash()
      const again = await stage.reborn()
      expected.forEach((values, who) => {
        expect(again.addedOf(tallyAddress(`T${who}`)).map(({ value }) => value)).toEqual(values)
      })
    }),
    { numRuns: 60 },
  )
})
