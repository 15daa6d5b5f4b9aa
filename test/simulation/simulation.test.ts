import { describe, expect, test } from 'vitest'
import { run } from '#test/simulation/run'

/** Seeds of every run of the tests. `SEED=7` runs that one alone. */
const seeds = 300
const perTest = 25
const { SEED } = process.env

describe.skipIf(SEED !== undefined)('the whole server, simulated from a seed', () => {
  for (let first = 1; first <= seeds; first += perTest) {
    test(`seeds ${first} to ${first + perTest - 1}`, { timeout: 120_000 }, async () => {
      let acknowledged = 0
      for (let seed = first; seed < first + perTest; seed++) acknowledged += (await run(seed)).acknowledged
      expect(acknowledged).toBeGreaterThan(0)
    })
  }

  test('the same seed is the same run', { timeout: 30_000 }, async () => {
    expect(await run(7)).toEqual(await run(7))
  })
})

test.runIf(SEED !== undefined)(`seed ${SEED}`, async () => {
  expect((await run(Number(SEED))).acknowledged).toBeGreaterThan(0)
})
