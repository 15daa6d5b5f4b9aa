import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Problem } from '#model/problem'
import type { BlobStore } from '#runtime/blobs'

export interface BlobFixture {
  readonly store: BlobStore
  /** The process dies, and another one opens the store. */
  restart(): Promise<BlobStore>
  wait(ms: number): void
  close(): Promise<void>
}

export const bytesMax = 1_000_000

/** Neighbouring bytes differ, so that a wrong order is detected. */
export const bytesOf = (count: number, seed = 0): Uint8Array =>
  Uint8Array.from({ length: count }, (_, index) => (index * 31 + (index >> 8) + seed) & 0xff)

export const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

export async function* piecesOf(bytes: Uint8Array, pieceBytes = 7000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

async function* brokenOff(bytes: Uint8Array, error: Error): AsyncGenerator<Uint8Array> {
  yield* piecesOf(bytes)
  throw error
}

async function readWhole(store: BlobStore, sha256: string, from: number, to: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of store.read(sha256, from, to)) {
    expect(piece.length).toBeLessThanOrEqual(65_536)
    // The next piece may reuse this memory.
    pieces.push(piece.slice())
  }
  return new Uint8Array(Buffer.concat(pieces))
}

const hour = 3_600_000

/** These names own an image of 9 000 bytes; other images have no owners. */
const owners = (names: readonly string[]) => (size: number) => (size === 9000 ? names : [])
export const noOwners = owners([])

export function blobSuite(name: string, open: () => Promise<BlobFixture>): void {
  describe(`large bytes: ${name}`, () => {
    let fixture: BlobFixture
    let store: BlobStore
    beforeEach(async () => {
      fixture = await open()
      store = fixture.store
      await store.open()
    })
    afterEach(() => fixture.close())

    const whole = { from: 0, size: null } as const
    const put = (bytes: Uint8Array, from = 0, size: number | null = null) =>
      store.receive('a', { from, size }, piecesOf(bytes.subarray(from)))
    const broken = new Error('broken off')
    const breakOff = async (bytes: Uint8Array, count: number) => {
      const pieces = brokenOff(bytes.subarray(0, count), broken)
      await expect(store.receive('a', { from: 0, size: bytes.length }, pieces)).rejects.toBe(broken)
    }

    test.each([0, 1, 65_535, 65_536, 65_537, bytesMax])('reads back %i bytes as written', async (count) => {
      const bytes = bytesOf(count)
      const image = { sha256: hashOf(bytes), size: count }
      expect(await put(bytes)).toEqual({ received: count, image })
      expect(await store.sizeOf(image.sha256)).toBe(count)
      expect(await store.receivedOf('a')).toBe(0)
      expect(Buffer.compare(await readWhole(store, image.sha256, 0, count), bytes)).toBe(0)
    })

    test('reads any part', async () => {
      const bytes = bytesOf(200_000)
      const { image } = await put(bytes)
      for (const [from, to] of [
        [0, 1],
        [199_999, 200_000],
        [65_535, 65_537],
        [1, 199_999],
        [5, 5],
      ] as const) {
        const found = await readWhole(store, image?.sha256 ?? '', from, to)
        expect(Buffer.compare(found, bytes.subarray(from, to)), `${from}-${to}`).toBe(0)
      }
    })

    test('a reader may stop early and overwrite its pieces', async () => {
      const bytes = bytesOf(200_000)
      const { image } = await put(bytes)
      for await (const piece of store.read(image?.sha256 ?? '', 0, 200_000)) {
        piece.fill(0)
        break
      }
      expect(hashOf(await readWhole(store, image?.sha256 ?? '', 0, 200_000))).toBe(image?.sha256)
    })

    test('a missing image has no size and throws on reading', async () => {
      const none = hashOf(Uint8Array.of(1))
      expect([await store.sizeOf(none), await store.receivedOf('a')]).toEqual([undefined, 0])
      await expect(readWhole(store, none, 0, 1)).rejects.toMatchObject({ code: 'not_found' })
      await store.remove(none)
    })

    test.each([0, 1, 6999, 7000, 50_000, 99_999, 100_000])('continues after %i bytes', async (count) => {
      const bytes = bytesOf(100_000)
      for (const isRestarted of [false, true]) {
        await breakOff(bytes, count)
        if (isRestarted) store = await fixture.restart()
        expect(await store.receivedOf('a')).toBe(count)
        expect(await put(bytes, count, bytes.length)).toEqual({
          received: bytes.length,
          image: { sha256: hashOf(bytes), size: bytes.length },
        })
      }
    })

    test('a crash before the image has an owner keeps all received bytes, and the upload can be completed again', async () => {
      const bytes = bytesOf(9000)
      const found: unknown[] = []
      await store.receive('a', { from: 0, size: 9000 }, piecesOf(bytes), async () => {
        const next = await fixture.restart()
        await next.sweep(() => false, noOwners)
        found.push(await next.sizeOf(hashOf(bytes)), await next.receivedOf('a'))
        found.push((await next.receive('a', { from: 9000, size: 9000 }, piecesOf(bytes.subarray(9000)))).image?.sha256)
        found.push(await next.receivedOf('a'))
      })
      expect(found).toEqual([undefined, 9000, hashOf(bytes), 0])
    })

    test.each<[string, 'before' | 'after' | 'never', readonly string[], number]>([
      ['after the image has an owner leaves no part', 'never', ['b', 'a'], 0],
      ['before the image has this owner too keeps all received bytes', 'before', ['b'], 9000],
      ['after the image has this owner leaves no part, even if another one sends the same bytes', 'after', ['a'], 0],
    ])('a crash %s', async (_, sentByOther, names, received) => {
      const bytes = bytesOf(9000)
      const found: unknown[] = []
      if (sentByOther === 'before') await store.receive('b', whole, piecesOf(bytes))
      await store.receive('a', { from: 0, size: 9000 }, piecesOf(bytes), async () => {
        const next = await fixture.restart()
        if (sentByOther === 'after') await next.receive('b', whole, piecesOf(bytes))
        await next.sweep(() => true, owners(names))
        found.push(await next.sizeOf(hashOf(bytes)), await next.receivedOf('a'))
      })
      expect(found).toEqual([9000, received])
    })

    test('a sweep keeps a part that is being completed, even if its owner has an image of that size', async () => {
      const bytes = bytesOf(9000)
      await store.receive('a', { from: 0, size: 9000 }, piecesOf(bytes), async () => {
        await store.sweep(() => true, owners(['a']))
        expect(await store.receivedOf('a')).toBe(9000)
      })
      expect(await store.receivedOf('a')).toBe(0)
    })

    test('an incomplete part continues after a sweep, even if its owner has an image', async () => {
      const bytes = bytesOf(9000)
      await breakOff(bytes, 500)
      store = await fixture.restart()
      await store.sweep(() => true, owners(['a']))
      expect((await put(bytes, 500, 9000)).image?.sha256).toBe(hashOf(bytes))
    })

    test('an upload that restarts meanwhile does not change the image', async () => {
      const [bytes, other] = [bytesOf(9000), bytesOf(9000, 9)]
      const found: unknown[] = []
      await store.receive('a', { from: 0, size: 9000 }, piecesOf(bytes), async () => {
        const next = await fixture.restart()
        found.push((await next.receive('a', { from: 0, size: 9000 }, piecesOf(other))).image?.sha256)
        for (const each of [bytes, other]) found.push(hashOf(await readWhole(next, hashOf(each), 0, 9000)))
      })
      expect(found).toEqual([hashOf(other), hashOf(bytes), hashOf(other)])
    })

    test.each<[string, Error, number | null, number]>([
      ['the bytes are wrong', new Problem('bad_request'), 10, 0],
      ['the user lacks a permission', new Problem('forbidden'), 10, 0],
      ['the release has other bytes, or there are too many releases', new Problem('conflict'), 10, 0],
      ['the disk refuses', new Problem('storage'), 10, 10],
      ['the image was just removed', new Problem('overloaded'), 10, 10],
      ['of an unknown error', new Error('broken'), 10, 10],
      ['the disk refuses an upload of unknown size', new Problem('storage'), null, 0],
    ])('keeps or discards the part if the image gets no owner because %s', async (_, failed, size, kept) => {
      const own = async () => {
        // A second upload of the name is refused meanwhile.
        await expect(put(bytesOf(10))).rejects.toMatchObject({ code: 'conflict' })
        throw failed
      }
      await expect(store.receive('a', { from: 0, size }, piecesOf(bytesOf(10)), own)).rejects.toBe(failed)
      expect(await store.receivedOf('a')).toBe(kept)
      // The received bytes are not sent again.
      const again = { from: kept, size: 10 }
      const rest = piecesOf(bytesOf(10).subarray(kept))
      expect((await store.receive('a', again, rest)).image?.sha256).toBe(hashOf(bytesOf(10)))
      expect(await store.receivedOf('a')).toBe(0)
    })

    test.each([1, 9999, 10_001])(
      'refuses an upload that continues at %i instead of 10 000, and loses nothing',
      async (from) => {
        const bytes = bytesOf(20_000)
        await breakOff(bytes, 10_000)
        await expect(put(bytes, from, 20_000)).rejects.toMatchObject({
          code: 'conflict',
          message: 'bytes from 10000 are expected',
        })
        expect((await put(bytes, 10_000, 20_000)).image?.sha256).toBe(hashOf(bytes))
      },
    )

    test('keeps uploads of different names apart', async () => {
      await breakOff(bytesOf(20_000), 10_000)
      expect(await store.receivedOf('../a')).toBe(0)
      const other = await store.receive('../a', whole, piecesOf(bytesOf(10)))
      expect(other.image?.size).toBe(10)
      expect(await store.receivedOf('a')).toBe(10_000)
    })

    test('refuses a second upload of the same name', async () => {
      let go = () => {}
      const going = new Promise<void>((resolve) => {
        go = resolve
      })
      async function* waiting() {
        yield bytesOf(10)
        await going
      }
      const first = store.receive('a', whole, waiting())
      const later = store.receive('a', whole, piecesOf(bytesOf(5)))
      await expect(later).rejects.toMatchObject({ code: 'conflict' })
      go()
      expect((await first).image?.size).toBe(10)
    })

    test('stores equal bytes once, and removes them', async () => {
      const bytes = bytesOf(1000)
      const sha256 = hashOf(bytes)
      await put(bytes)
      await store.receive('b', whole, piecesOf(bytes, 13))
      await store.remove(sha256)
      expect(await store.sizeOf(sha256)).toBeUndefined()
    })

    test('names all images in order, without parts', async () => {
      expect(await store.names()).toEqual([])
      await breakOff(bytesOf(500, 9), 100)
      const images = [bytesOf(10), bytesOf(20), bytesOf(30)]
      for (const bytes of images) await store.receive(`n${bytes.length}`, whole, piecesOf(bytes))
      expect(await store.names()).toEqual(images.map(hashOf).sort())
    })

    test('refuses images above the size limit, and more bytes than announced', async () => {
      const tooLarge = { code: 'too_large' }
      await expect(put(bytesOf(bytesMax + 1))).rejects.toMatchObject(tooLarge)
      expect(await store.receivedOf('a')).toBe(0)
      const announced = { from: 0, size: bytesMax + 1 }
      await expect(store.receive('b', announced, piecesOf(bytesOf(1)))).rejects.toMatchObject(tooLarge)
      const more = store.receive('c', { from: 0, size: 9 }, piecesOf(bytesOf(10), 4))
      await expect(more).rejects.toMatchObject({ ...tooLarge, message: 'more than 9 bytes were sent' })
      expect(await store.receivedOf('c')).toBe(8)
    })

    test('keeps nothing of an interrupted upload of unknown size', async () => {
      const pieces = brokenOff(bytesOf(20_000), broken)
      await expect(store.receive('a', whole, pieces)).rejects.toBe(broken)
      expect(await store.receivedOf('a')).toBe(0)
    })

    test('sweeps images without owner at a start', async () => {
      const [kept, left] = [bytesOf(10, 1), bytesOf(10, 2)]
      await put(kept)
      await put(left)
      store = await fixture.restart()
      await store.sweep((sha256) => sha256 === hashOf(kept), noOwners)
      expect([await store.sizeOf(hashOf(kept)), await store.sizeOf(hashOf(left))]).toEqual([10, undefined])
    })

    test('keeps a new image without owner for an hour', async () => {
      await put(bytesOf(10))
      await store.sweep(() => false, noOwners)
      expect(await store.sizeOf(hashOf(bytesOf(10)))).toBe(10)
      fixture.wait(hour + 1000)
      await store.sweep(() => false, noOwners)
      expect(await store.sizeOf(hashOf(bytesOf(10)))).toBeUndefined()
    })

    test('discards a part, but not during its upload', async () => {
      const bytes = bytesOf(20_000)
      await breakOff(bytes, 10_000)
      await store.discard('b')
      expect(await store.receivedOf('a')).toBe(10_000)
      const own = () => store.discard('a')
      const rest = piecesOf(bytes.subarray(10_000))
      expect((await store.receive('a', { from: 10_000, size: 20_000 }, rest, own)).image?.sha256).toBe(hashOf(bytes))
      await breakOff(bytes, 10_000)
      await store.discard('a')
      expect(await store.receivedOf('a')).toBe(0)
    })

    test('keeps parts for a day', async () => {
      const bytes = bytesOf(1000)
      await breakOff(bytes, 500)
      fixture.wait(23 * hour)
      await store.sweep(() => true, noOwners)
      expect(await store.receivedOf('a')).toBe(500)
      fixture.wait(hour + 60_000)
      expect(await store.receivedOf('a')).toBe(0)
      await expect(put(bytes, 500, 1000)).rejects.toMatchObject({ message: 'bytes from 0 are expected' })
      await store.sweep(() => true, noOwners)
      fixture.wait(-25 * hour)
      expect(await store.receivedOf('a')).toBe(0)
    })
  })
}
