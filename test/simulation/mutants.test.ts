import { expect, test } from 'vitest'
import { checkMutant, mutantNames } from '#bench/proof/mutants'

/** That the simulation finds them is seen by `npm run proof -- mutants`. */
test.each(mutantNames())('the mistake "%s" can be planted in the sources as they are', (name) => {
  expect(() => checkMutant(name)).not.toThrow()
})

test('there are some', () => {
  expect(mutantNames().length).toBeGreaterThanOrEqual(6)
})
