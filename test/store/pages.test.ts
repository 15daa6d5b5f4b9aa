import { expect, test } from 'vitest'
import type { Row, Scan, Storage } from '#runtime/storage'
import { firstRowOf, pagesOf } from '#store/pages'
import { memoryStorage } from '#test/store/memory'

const range = { after: 'a/', before: 'a0', hasValues: true }

async function storageWith(count: number): Promise<Storage> {
  const storage = await memoryStorage().open()
  const operations = Array.from({ length: count }, (_, index) => ({
    key: `a/${String(index).padStart(6, '0')}`,
    value: Buffer.from(String(index)),
  }))
  await storage.write([...operations, { key: 'b/0', value: Buffer.from('other') }], { sync: false })
  return storage
}

async function read(storage: Storage): Promise<string[]> {
  const values: string[] = []
  for await (const page of pagesOf(storage, range)) {
    values.push(...page.map(({ value }) => Buffer.from(value).toString()))
  }
  return values
}

/** Records the calls of a scan that answers each `next` with a page or a failure. */
function watched(answers: readonly (readonly Row[] | Error)[]): {
  readonly storage: Storage
  readonly steps: string[]
} {
  const steps: string[] = []
  const left = [...answers]
  const scan: Scan = {
    async next() {
      steps.push('next')
      const answer = left.shift() ?? []
      await new Promise((resolve) => setTimeout(resolve, 1))
      if (answer instanceof Error) throw answer
      return answer
    },
    async close() {
      steps.push('close')
    },
  }
  return { storage: { scan: () => scan } as unknown as Storage, steps }
}

const page = [{ key: 'a/1', value: new Uint8Array(0) }]

test.each([0, 1, 511, 512, 513, 2_000])('returns %d rows in order, each once', async (count) => {
  expect(await read(await storageWith(count))).toEqual(Array.from({ length: count }, (_, index) => String(index)))
})

test('requests the next page before the caller processes this one, and closes the scan at the end', async () => {
  const { storage, steps } = watched([page, page])
  for await (const _ of pagesOf(storage, range)) steps.push('work')
  expect(steps).toEqual(['next', 'next', 'work', 'next', 'work', 'close'])
})

test('a caller that stops early closes the scan after the page in progress', async () => {
  const { storage, steps } = watched([page, new Error('the disk')])
  for await (const _ of pagesOf(storage, range)) break
  expect(steps).toEqual(['next', 'next', 'close'])
})

test('a failure is thrown after the earlier pages, and the scan is closed', async () => {
  const { storage, steps } = watched([page, new Error('the disk')])
  const reading = async () => {
    for await (const _ of pagesOf(storage, range)) {
      // Longer than the next page takes to fail.
      await new Promise((resolve) => setTimeout(resolve, 5))
      steps.push('work')
    }
  }
  await expect(reading()).rejects.toThrow('the disk')
  expect(steps).toEqual(['next', 'next', 'work', 'close'])
})

test('reads the first or last row', async () => {
  const storage = await storageWith(5)
  expect(await firstRowOf(storage, range)).toMatchObject({ key: 'a/000000' })
  expect(await firstRowOf(storage, { ...range, isReverse: true })).toMatchObject({ key: 'a/000004' })
  expect(await firstRowOf(storage, { ...range, after: 'c/', before: 'c0' })).toBeUndefined()
})
