import { expect, test } from 'vitest'
import { runHistory } from '#test/simulation/history-run'

const { HISTORY_SEED, HISTORY_SEEDS = '3' } = process.env
const seeds = Array.from({ length: Number(HISTORY_SEEDS) }, (_, index) => index + 1)

test.each(HISTORY_SEED === undefined ? seeds : [Number(HISTORY_SEED)])(
  'history answers what the stream holds, with seed %i',
  async (seed) => {
    expect((await runHistory(seed)).counts.checks).toBeGreaterThan(0)
  },
)
