import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { tried } from '#test/attacks/fuzz/fuzzing'
import { edited, edits } from '#test/attacks/fuzz/mutation'
import { targets } from '#test/attacks/fuzz/targets'

/** For refresh and second-factor tokens, plain MessagePack and conditions in functions these are the only fuzz tests. */
describe.each(Object.entries(targets))('%s', (_, { seeds, fuzz }) => {
  test('takes each of its seeds', async () => {
    for (const seed of seeds) expect(await fuzz(seed), Buffer.from(seed).toString('latin1')).toBe('taken')
  })

  test('takes or refuses mutated bytes', async () => {
    const mutated = fc.tuple(fc.constantFrom(...seeds), edits(4)).map(([seed, all]) => edited(seed, all))
    const bytes = fc.oneof({ weight: 4, arbitrary: mutated }, fc.uint8Array({ maxLength: 60 }))
    const verdicts = new Set<string>()
    await fc.assert(
      fc.asyncProperty(bytes, async (each) => {
        verdicts.add(await fuzz(each))
      }),
      tried(300),
    )
    expect([...verdicts].sort()).toEqual(['refused', 'taken'])
  })
})
