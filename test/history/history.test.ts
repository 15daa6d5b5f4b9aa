import { describe, expect, test } from 'vitest'
import { History } from '#history/history'
import { dayMs } from '#history/history-keys'
import { defaultLimits } from '#history/retention'
import type { StorageBackend } from '#runtime/storage'
import { chunkOf, shapes, tenant } from '#test/history/query-fixture'
import { ManualWorld } from '#test/runtime/manual-world'
import { memoryStorage } from '#test/store/memory'

/** History on a backend that can be replaced, as by moving its folder away. */
class Fixture {
  readonly world = new ManualWorld()
  backend = memoryStorage()
  readonly failures: string[] = []
  asides = 0
  readonly history: History
  #offset = 0

  constructor() {
    const backend: StorageBackend = {
      open: () => this.backend.open(),
      hasRoom: () => this.backend.hasRoom(),
      releaseHeadroom: async () => {},
      restoreHeadroom: async () => {},
    }
    this.history = new History({
      world: this.world,
      backend,
      setAside: async () => {
        this.asides++
        this.backend = memoryStorage()
      },
      shapes,
      limits: defaultLimits,
      failed: (error) => this.failures.push((error as Error).message),
    })
  }

  async open(): Promise<void> {
    await this.history.open()
    await this.history.resume(0, 'epoch')
  }

  report(value: number): Promise<unknown> {
    const at = this.world.now()
    return this.history.apply([chunkOf(++this.#offset, { at, items: [0, value] })])
  }

  async ask(): Promise<unknown> {
    const now = this.world.now()
    const series = { device: 'D', service: 'service', declared: [], propIds: undefined, path: 'properties' }
    const query = { tenant, services: [series], form: 'service' } as const
    const asked = this.history.query({ ...query, from: now - 3 * dayMs, to: now + 1, now })
    const [answer] = await Promise.all([asked, this.world.settle()])
    return answer !== 'unknown' && 'pieces' in answer ? { text: Buffer.concat(answer.pieces).toString() } : answer
  }
}

describe('history', () => {
  test('starts empty when a row is damaged, and sets the old database aside', async () => {
    const fixture = new Fixture()
    await fixture.open()
    await fixture.report(1)
    await fixture.history.close()
    const storage = await fixture.backend.open()
    const scan = storage.scan({ after: 'page/', before: 'page0', hasValues: true })
    const [page] = await scan.next(1)
    await scan.close()
    const damaged = Buffer.from(page?.value ?? [])
    damaged[3] = (damaged[3] as number) ^ 1
    await storage.write([{ key: page?.key ?? '', value: damaged }], { sync: true })
    await storage.close()
    await fixture.open()
    await expect(fixture.ask()).rejects.toThrow('damaged')
    await expect(fixture.report(2)).rejects.toThrow('damaged')
    await fixture.open()
    expect(fixture.asides).toBe(1)
    await fixture.report(3)
    expect(await fixture.ask()).toMatchObject({ text: expect.stringContaining('"value":[3]') })
  })

  test('stops while the disk has too little space, and continues afterwards', async () => {
    const fixture = new Fixture()
    await fixture.open()
    fixture.backend.setRoom(false)
    await fixture.world.advance(1_000)
    await expect(fixture.report(1)).rejects.toThrow('space')
    fixture.backend.setRoom(true)
    await fixture.world.advance(2_000)
    await fixture.report(1)
    expect(fixture.failures).toEqual([])
  })

  test('stores points after ten seconds, and merges everything once a day, however often it is opened', async () => {
    const fixture = new Fixture()
    await fixture.open()
    const { stored } = (await fixture.report(1)) as { stored: number }
    await fixture.world.advance(11_000)
    expect(await fixture.report(2)).toEqual({ stored: stored + 1, isConfirmDue: false })
    for (let hour = 0; hour < 24; hour += 6) {
      await fixture.world.advance(dayMs / 4)
      await fixture.history.close()
      await fixture.open()
    }
    await fixture.world.advance(11_000)
    const applied = (await fixture.report(3)) as { stored: number; isConfirmDue: boolean }
    expect(applied.isConfirmDue).toBe(true)
    await fixture.history.confirm(applied.stored)
    await fixture.world.advance(1_000)
    expect(await fixture.ask()).toMatchObject({ text: expect.stringContaining('"value":[1,2,3]') })
    await fixture.history.close()
    const storage = await fixture.backend.open()
    const scan = storage.scan({ after: 'block/', before: 'block0', hasValues: false })
    expect((await scan.next(10)).length).toBeGreaterThan(0)
    await scan.close()
    await storage.close()
    expect(fixture.failures).toEqual([])
  })
})
