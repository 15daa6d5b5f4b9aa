import { expect, test } from 'vitest'
import { runHistory } from '#test/simulation/history-run'

const { HISTORY_SEED, SEED_FROM = '1', HISTORY_SEEDS = '3' } = process.env
const seeds = Array.from({ length: Number(HISTORY_SEEDS) }, (_, index) => Number(SEED_FROM) + index)

test.each(HISTORY_SEED === undefined ? seeds : [Number(HISTORY_SEED)])(
  'history answers what the stream holds, with seed %i',
  async (seed) => {
    expect(await runHistory(seed)).toBeGreaterThan(0)
  },
)
