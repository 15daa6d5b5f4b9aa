import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fuzzRuns } from '#test/attacks/fuzz/fuzz-runs'
import { edited, edits } from '#test/attacks/fuzz/mutation'
import type { Target } from '#test/attacks/fuzz/target'
import * as alarmConditions from '#test/attacks/fuzz/targets/alarm-conditions'
import * as filters from '#test/attacks/fuzz/targets/filters'
import * as functionConditions from '#test/attacks/fuzz/targets/function-conditions'
import * as msgpack from '#test/attacks/fuzz/targets/msgpack'
import * as tokens from '#test/attacks/fuzz/targets/tokens'

const targets: Readonly<Record<string, Target>> = {
  msgpack,
  tokens,
  filters,
  'function-conditions': functionConditions,
  'alarm-conditions': alarmConditions,
}

/** Gives mutated seeds to the readers of bytes from outside. */
describe.each(Object.entries(targets))('%s', (_, { seeds, fuzz }) => {
  test('accepts its seeds', async () => {
    for (const seed of seeds) expect(await fuzz(seed), Buffer.from(seed).toString('latin1')).toBe('accepted')
  })

  test('accepts or refuses mutated bytes', async () => {
    const mutated = fc.tuple(fc.constantFrom(...seeds), edits(4)).map(([seed, all]) => edited(seed, all))
    const bytes = fc.oneof({ weight: 4, arbitrary: mutated }, fc.uint8Array({ maxLength: 60 }))
    const verdicts = new Set<string>()
    await fc.assert(
      fc.asyncProperty(bytes, async (each) => {
        verdicts.add(await fuzz(each))
      }),
      fuzzRuns(150),
    )
    expect([...verdicts].sort()).toEqual(['accepted', 'refused'])
  })
})
