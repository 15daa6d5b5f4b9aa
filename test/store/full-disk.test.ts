import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, type TestContext } from 'vitest'
import type { Operation, Storage } from '#runtime/storage'
import { levelPlace } from '#store/level'
import { onSmallDisk } from '#test/store/small-disk'
import { rowsOf, text } from '#test/store/storage-suite'

const MIB = 1024 * 1024
const soft = { sync: false } as const
const whole = { after: '', before: '\u{10ffff}', hasValues: true } as const

/** 60 KiB that Snappy compresses well: reopening writes the log as a table, which must fit in the headroom. */
const filler = new TextEncoder().encode('a row of some device, repeated often; '.repeat(1600))
const row = (index: number): Operation => ({ key: `row/${String(index).padStart(6, '0')}`, value: filler })
const isWhole = (value: Uint8Array | undefined) => value !== undefined && Buffer.compare(value, filler) === 0

/** A disk of 32 MiB, of which another file takes 20. */
describe('LevelDB on a full disk', () => {
  const onFullDisk = (context: TestContext, work: (disk: string, ballast: string) => Promise<void>) =>
    onSmallDisk('32m', context, async (disk) => {
      const ballast = join(disk, 'ballast')
      await writeFile(ballast, new Uint8Array(20 * MIB))
      await work(disk, ballast)
    })

  /** Writes until the disk is full; returns the number of acknowledged rows. */
  async function fill(storage: Storage): Promise<number> {
    for (let count = 0; ; count += 1) {
      try {
        await storage.write([row(count)], soft)
      } catch (error) {
        expect(error).toMatchObject({ name: 'StorageFailure', code: 'full' })
        return count
      }
    }
  }

  it('stays readable, refuses writes, and has all acknowledged rows after reopening', (context) =>
    onFullDisk(context, async (disk, ballast) => {
      const place = levelPlace({ folder: join(disk, 'data'), headroomBytes: 4 * MIB, roomBytes: 4 * MIB })
      let storage = await place.open()
      await place.restoreHeadroom()
      expect(await place.hasRoom()).toBe(true)
      const acknowledged = await fill(storage)
      expect(acknowledged).toBeGreaterThan(50)
      expect(await place.hasRoom()).toBe(false)

      // Reads continue; this handle never writes again, even when there is room.
      expect(isWhole(storage.get(row(0).key))).toBe(true)
      expect(isWhole(storage.get(row(acknowledged - 1).key))).toBe(true)
      expect(await rowsOf(storage)).toHaveLength(acknowledged)
      await expect(storage.write([row(0)], soft)).rejects.toMatchObject({ code: 'poisoned' })
      await storage.close()

      // No byte is left for a new manifest: the headroom is for this.
      await writeFile(join(disk, 'more'), new Uint8Array(64 * MIB)).catch(() => undefined)
      await expect(place.open()).rejects.toMatchObject({ name: 'StorageFailure', code: 'full' })
      await place.restoreHeadroom()
      await place.releaseHeadroom()
      expect(await place.hasRoom()).toBe(false)
      storage = await place.open()
      await expectRows(storage, acknowledged)

      // An operator frees space.
      await rm(ballast)
      expect(await place.hasRoom()).toBe(true)
      await place.restoreHeadroom()
      for (let index = 0; index < 100; index += 1) {
        await storage.write([{ key: `later/${index}`, value: filler }], { sync: index % 10 === 0 })
      }
      await storage.close()
      storage = await place.open()
      await expectRows(storage, acknowledged)
      for (let index = 0; index < 100; index += 1) expect(isWhole(storage.get(`later/${index}`))).toBe(true)
      await storage.close()
    }))

  it('stays poisoned when there is room again', (context) =>
    onFullDisk(context, async (disk, ballast) => {
      const place = levelPlace({ folder: join(disk, 'data'), headroomBytes: 0, roomBytes: 1 * MIB })
      let storage = await place.open()
      const acknowledged = await fill(storage)
      const waiting = [storage.write([row(0)], soft), storage.write([row(1)], { sync: true })]
      await rm(ballast)
      for (const write of await Promise.allSettled(waiting))
        expect(write).toMatchObject({ reason: { code: 'poisoned' } })
      await expect(storage.write([], soft)).rejects.toMatchObject({ code: 'poisoned' })
      await storage.close()
      storage = await place.open()
      await expectRows(storage, acknowledged)
      await storage.write([{ key: 'z', value: new TextEncoder().encode('again') }], soft)
      expect(text(storage.get('z'))).toBe('again')
      await storage.close()
    }))

  /** All acknowledged rows are there; the refused one may be. */
  async function expectRows(storage: Storage, acknowledged: number): Promise<void> {
    const rows = await rowsOf(storage, { ...whole, after: 'row/', before: 'row0' })
    expect(rows.slice(0, acknowledged).map(({ key }) => key)).toEqual(
      Array.from({ length: acknowledged }, (_, index) => row(index).key),
    )
    expect(rows.every(({ value }) => isWhole(value))).toBe(true)
    expect(rows.length - acknowledged).toBeLessThanOrEqual(1)
  }
})
