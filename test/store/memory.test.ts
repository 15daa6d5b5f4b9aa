import { describe, expect, it } from 'vitest'
import { idleWorld } from '#test/store/idle-world'
import { memoryPlace, type WriteFault } from '#test/store/memory'
import { put, remove, rowsOf, storageSuite, text } from '#test/store/storage-suite'

const soft = { sync: false } as const

storageSuite('memory', async () => ({ place: memoryPlace() }))
storageSuite('memory in a slow world', async () => ({ place: memoryPlace({ world: idleWorld(1), delayMsMax: 20 }) }))

describe('memory in a simulated world', () => {
  async function run(seed: number): Promise<string[]> {
    const world = idleWorld(seed)
    const place = memoryPlace({ world, delayMsMax: 50 })
    const log: string[] = []
    const storage = await place.open()
    const work = Array.from({ length: 20 }, async (_, index) => {
      if (index % 3 === 0) {
        const rows = await rowsOf(storage)
        log.push(`${world.now()} scan ${index}: ${rows.length}`)
      } else {
        await storage.write([put(`k/${index}`, `${index}`)], { sync: false })
        log.push(`${world.now()} write ${index}`)
      }
    })
    await Promise.all(work)
    await storage.close()
    return [...log, `${world.now()} closed`]
  }

  it('repeats a run for the same seed, and differs for another one', async () => {
    expect(await run(7)).toEqual(await run(7))
    expect(await run(7)).not.toEqual(await run(8))
  })
})

describe('memory with a failed disk', () => {
  const cases: WriteFault[] = (['full', 'io'] as const).flatMap((fail) =>
    [false, true].map((reachedDisk) => ({ fail, reachedDisk })),
  )

  it.each(cases)('is poisoned after $fail (reached the disk: $reachedDisk)', async (fault) => {
    const faults: { beforeWrite?: () => WriteFault | undefined } = {}
    const place = memoryPlace({ faults })
    let storage = await place.open()
    await storage.write([put('a', '1'), put('b', '1')], soft)
    faults.beforeWrite = () => fault
    const writes = [storage.write([put('a', '2'), remove('b')], soft), storage.write([put('c', '1')], soft)]
    const results = await Promise.allSettled(writes)
    expect(results).toMatchObject([{ reason: { code: fault.fail } }, { reason: { code: 'poisoned' } }])
    delete faults.beforeWrite
    await expect(storage.write([put('d', '1')], soft)).rejects.toMatchObject({ code: 'poisoned' })
    expect(text(storage.get('a'))).toBe('1')
    expect((await rowsOf(storage)).map(({ key }) => key)).toEqual(['a', 'b'])
    await storage.close()
    storage = await place.open()
    expect(text(storage.get('a'))).toBe(fault.reachedDisk ? '2' : '1')
    expect((await rowsOf(storage)).map(({ key }) => key)).toEqual(fault.reachedDisk ? ['a'] : ['a', 'b'])
    await storage.write([put('d', '1')], soft)
    expect(text(storage.get('d'))).toBe('1')
  })
})

describe('memory after a crash of the process', () => {
  it.each([0, 1, 2, 3, 4])('keeps the first %i of three writes in flight', async (writesKept) => {
    const place = memoryPlace()
    let storage = await place.open()
    await storage.write([put('0', '')], soft)
    const settled: string[] = []
    for (const key of ['1', '2', '3']) {
      storage.write([put(key, '')], soft).then(
        () => settled.push(key),
        () => settled.push(key),
      )
    }
    place.crash(writesKept)
    storage = await place.open()
    expect((await rowsOf(storage)).map(({ key }) => key)).toEqual(['0', '1', '2', '3'].slice(0, writesKept + 1))
    expect(settled).toEqual([])
  })

  it('keeps a write that reads could already see', async () => {
    for (let seed = 0; seed < 30; seed += 1) {
      const place = memoryPlace({ world: idleWorld(seed), delayMsMax: 5 })
      let storage = await place.open()
      void storage.write([put('a', '1')], soft)
      const wasSeen = storage.get('a') !== undefined
      place.crash()
      storage = await place.open()
      expect(storage.get('a') !== undefined).toBe(wasSeen)
    }
  })

  it('never stores a write of a poisoned handle', async () => {
    const place = memoryPlace({ faults: { beforeWrite: () => ({ fail: 'io', reachedDisk: false }) } })
    let storage = await place.open()
    await expect(storage.write([put('a', '1')], soft)).rejects.toMatchObject({ code: 'io' })
    void storage.write([put('b', '1')], soft)
    place.crash(5)
    storage = await place.open()
    expect(await rowsOf(storage)).toEqual([])
  })
})

describe('memory after a power loss', () => {
  it('keeps the rows of the last write with sync', async () => {
    const place = memoryPlace()
    let storage = await place.open()
    await storage.write([put('a', '1')], soft)
    await storage.write([put('b', '1')], { sync: true })
    await storage.write([put('a', '2'), remove('b'), put('c', '1')], soft)
    place.losePower()
    storage = await place.open()
    expect((await rowsOf(storage)).map(({ key, value }) => [key, text(value)])).toEqual([
      ['a', '1'],
      ['b', '1'],
    ])
    await storage.write([put('b', '2')], soft)
    expect(text(storage.get('b'))).toBe('2')
  })
})
