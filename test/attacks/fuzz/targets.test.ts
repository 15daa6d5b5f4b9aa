import fc from 'fast-check'
import { expect, test } from 'vitest'
import { targets } from '#bench/proof/jazzer/targets'
import { tried } from '#test/attacks/fuzz/fuzzing'
import { edited, edits } from '#test/attacks/fuzz/mutation'

/**
 * What `npm run proof -- jazzer` leads by the code that bytes reach, by chance alone: for some it is all that tries them,
 * such as refresh and second-factor tokens, MessagePack by itself, and conditions in the graphs of functions.
 */
test.each(Object.entries(targets))('%s: takes or refuses bytes, and keeps its promises', (_, { seeds, fuzz }) => {
  const spoilt = fc.tuple(fc.constantFrom(...seeds), edits(4)).map(([seed, all]) => edited(seed, all))
  const bytes = fc.oneof({ weight: 4, arbitrary: spoilt }, fc.uint8Array({ maxLength: 60 }))
  const verdicts = new Set<string>()
  fc.assert(
    fc.property(bytes, (each) => {
      verdicts.add(fuzz(each))
    }),
    tried(300),
  )
  expect([...verdicts].sort()).toEqual(['refused', 'taken'])
})
