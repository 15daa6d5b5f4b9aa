import { expect, test } from 'vitest'
import { run } from '#test/simulation/run'

const { SEED = '8' } = process.env

test(`seed ${SEED} gives the same run twice`, async () => {
  const first = await run(Number(SEED), { isTraced: true })
  expect(first.acknowledged).toBeGreaterThan(0)
  expect(await run(Number(SEED))).toEqual(first)
})
