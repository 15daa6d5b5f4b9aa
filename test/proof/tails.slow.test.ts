import { readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { proveTails } from '#bench/proof/tails'
import type { TailFault } from '#bench/proof/tails/fault'
import { lossOf, writtenLog } from '#bench/proof/tails/log-loss'
import { logOf } from '#store/level-files/log-file'

test('what is left of a log, and what was answered before the rest was written', () => {
  const log = Buffer.concat([logOf(Buffer.alloc(3)), logOf(Buffer.alloc(13)), logOf(Buffer.alloc(1))])
  const written = writtenLog('1.log', log)
  expect(written.ends).toEqual([10, 30, 38])
  const marks = [0, 10, 30, 38].map((bytes, at) => ({ at, bytes: new Map([['1.log', bytes]]) }))
  const left = (from: number, bytesLeft: number) => {
    const { wholeBytes, tornBytes, at } = lossOf(written, { from, bytesLeft }, marks)
    return [wholeBytes, tornBytes, at]
  }
  expect(left(38, 38)).toEqual([38, 0, Number.POSITIVE_INFINITY])
  expect(left(30, 30)).toEqual([30, 0, 2])
  expect(left(31, 31)).toEqual([30, 1, 2])
  expect(left(12, 38)).toEqual([10, 28, 1])
  expect(left(9, 9)).toEqual([0, 9, 0])
})

const options = { faultsEach: 1, lifeMs: 300, print: () => {} }
const newSeed = () => Date.now() % 1_000_000_000

test('what is missing of a damaged log was behind the damage', { timeout: 240_000 }, async () => {
  const seed = newSeed()
  const trial = { files: /\.log$/, plant: () => {} }
  const { problems, warned } = await proveTails({ ...options, seed, trial })
  expect(problems, `seed ${seed}`).toEqual([])
  expect(warned, `seed ${seed}`).toBeGreaterThan(0)
})

test('what is damaged of a manifest, or beside the database, is said', { timeout: 240_000 }, async () => {
  const seed = newSeed()
  const trial = { files: /^(MANIFEST|identity\.key|images|db)/, plant: () => {} }
  const { problems, refused, beside } = await proveTails({ ...options, seed, trial })
  expect(problems, `seed ${seed}`).toEqual([])
  expect(refused, `seed ${seed}`).toBeGreaterThan(3)
  expect(beside, `seed ${seed}`).toBe(13)
})

test('a server that leaves out more, and warns of the end of its log, is found', { timeout: 240_000 }, async () => {
  const seed = newSeed()
  /** Thirty more writes, and all but a byte of one. */
  const plant = (database: string, { file, said }: TailFault) => {
    if (['taken away', 'a folder in its place'].includes(said)) return
    const { ends } = writtenLog(file, readFileSync(join(database, file)))
    const end = ends.at(-30)
    if (end !== undefined) truncateSync(join(database, file), end + 1)
  }
  const { problems } = await proveTails({ ...options, seed, trial: { files: /\.log$/, plant } })
  expect(problems.join('\n'), `seed ${seed}`).toMatch(/was acknowledged|was heard, and is gone/)
})
