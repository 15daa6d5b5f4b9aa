import { beforeEach, describe, expect, test } from 'vitest'
import { ImageDownloads } from '#firmware/image-downloads'
import type { BlobStore } from '#runtime/blobs'
import { ManualWorld } from '#test/runtime/manual-world'
import { memoryBlobs } from '#test/store/memory-blobs'

const piece = 64 * 1024
const imageBytes = 1024 * 1024

let images: Pick<BlobStore, 'read'>
let sha256: string
let world: ManualWorld
let downloads: ImageDownloads
/** Reads in flight, their maximum, and the number of ended iterators. */
let reading = 0
let readingMax = 0
let returned = 0

beforeEach(async () => {
  const stored = memoryBlobs({ bytesMax: 64 * imageBytes })
  async function* whole() {
    yield new Uint8Array(imageBytes).fill(7)
  }
  sha256 = (await stored.receive('a', { from: 0, size: null }, whole())).image?.sha256 ?? ''
  world = new ManualWorld({ isOutsideAwaited: true })
  reading = readingMax = returned = 0
  images = { read: (name, from, to) => watched(stored.read(name, from, to)) }
  downloads = new ImageDownloads({ images, world, atOnceMax: 3, bytesPerSecondMax: 10 * piece })
})

async function* watched(pieces: AsyncIterable<Uint8Array>) {
  const iterator = pieces[Symbol.asyncIterator]()
  try {
    for (;;) {
      readingMax = Math.max(readingMax, ++reading)
      await new Promise((resolve) => setImmediate(resolve))
      const next = await iterator.next()
      reading--
      if (next.done) return
      yield next.value
    }
  } finally {
    returned++
  }
}

interface StartedDownload {
  iterator: AsyncIterator<Uint8Array> | undefined
  error: unknown
  readonly aborter: AbortController
}

/** Each download is for another device by default. */
let deviceCount = 0
function begin(name = sha256, from = 0, to = imageBytes, device = `SENSOR-${deviceCount++}`): StartedDownload {
  const aborter = new AbortController()
  const begun: StartedDownload = { iterator: undefined, error: undefined, aborter }
  downloads.begin(name, from, to, aborter.signal, device).then(
    (pieces) => {
      begun.iterator = pieces[Symbol.asyncIterator]()
    },
    (error: unknown) => {
      begun.error = error
    },
  )
  return begun
}

async function beginMany(count: number): Promise<StartedDownload[]> {
  const begun = Array.from({ length: count }, () => begin())
  await world.settle()
  return begun
}

const begunOf = (all: readonly StartedDownload[]) => all.map(({ iterator }) => iterator !== undefined)

describe('slots', () => {
  test('downloads above the limit wait in order', async () => {
    const all = await beginMany(5)
    expect(begunOf(all)).toEqual([true, true, true, false, false])
    await all[1]?.iterator?.return?.()
    await world.settle()
    expect(begunOf(all)).toEqual([true, true, true, true, false])
    expect(downloads.atOnce).toBe(3)
  })

  test.each([
    ['returned before it was begun', [], ['return']],
    ['returned in the middle', ['next'], ['return']],
    ['returned while it waits for a piece', ['ask'], ['return']],
    ['aborted', [], ['abort']],
    ['aborted in the middle, and returned', ['next'], ['abort', 'return']],
  ])('a download that is %s releases its slot once', async (_, before, end) => {
    const all = await beginMany(4)
    const [first] = all
    const steps = {
      next: () => first?.iterator?.next(),
      ask: () => void first?.iterator?.next(),
      return: () => first?.iterator?.return?.(),
      abort: () => first?.aborter.abort(),
    }
    for (const step of [...before, ...end] as (keyof typeof steps)[]) await steps[step]()
    await world.settle()
    expect(begunOf(all)).toEqual([true, true, true, true])
    for (const one of all) await one.iterator?.return?.()
    expect(downloads.atOnce).toBe(0)
    expect((await all[0]?.iterator?.next())?.done).toBe(true)
  })

  test('a completed download releases its slot', async () => {
    const aborter = new AbortController()
    let bytes = 0
    const taking = (async () => {
      for await (const next of await downloads.begin(sha256, 10, 10 + 2 * piece, aborter.signal, 'A'))
        bytes += next.length
    })()
    await world.advance(5000)
    await taking
    expect([bytes, downloads.atOnce, returned]).toEqual([2 * piece, 0, 1])
    aborter.abort()
    expect(downloads.atOnce).toBe(0)
  })

  test('a failed download releases its slot', async () => {
    const none = begin('0'.repeat(64))
    await world.settle()
    await expect(none.iterator?.next()).rejects.toMatchObject({ code: 'not_found' })
    expect(downloads.atOnce).toBe(0)
  })

  test('a download that waits 30 s is refused, and leaves no timer', async () => {
    const all = await beginMany(4)
    await world.advance(29_999)
    expect(all[3]?.error).toBeUndefined()
    await world.advance(1)
    expect(all[3]?.error).toMatchObject({ code: 'overloaded' })
    for (const one of all) await one.iterator?.return?.()
    expect([downloads.atOnce, world.timerCount]).toEqual([0, 0])
  })

  test('a waiting client that disconnects takes no slot', async () => {
    const all = await beginMany(5)
    all[3]?.aborter.abort()
    await all[0]?.iterator?.return?.()
    await world.settle()
    expect(begunOf(all)).toEqual([true, true, true, false, true])
    expect(all[3]?.error).toMatchObject({ code: 'overloaded' })
    const gone = new AbortController()
    gone.abort()
    await expect(downloads.begin(sha256, 0, 1, gone.signal, 'A')).rejects.toMatchObject({ code: 'overloaded' })
  })

  test('at most a thousand downloads wait', async () => {
    const all = await beginMany(1004)
    expect(all.filter(({ error }) => error !== undefined)).toHaveLength(1)
    expect(all.at(-1)?.error).toMatchObject({ code: 'overloaded' })
  })
})

describe('pace', () => {
  test('all downloads together reach the limit exactly', async () => {
    let bytes = 0
    const all = await beginMany(3)
    const takings = all.map(async ({ iterator }) => {
      for (let next = await iterator?.next(); next && !next.done; next = await iterator?.next())
        bytes += next.value.length
    })
    await world.advance(2000)
    const inTwoSeconds = bytes
    await world.advance(2000)
    // Ten pieces a second, and a small burst at the start.
    expect(inTwoSeconds).toBeGreaterThanOrEqual(20 * piece)
    expect(inTwoSeconds).toBeLessThanOrEqual(22 * piece)
    expect((bytes - inTwoSeconds) / piece).toBe(20)
    await world.advance(10_000)
    await Promise.all(takings)
    expect(bytes).toBe(3 * imageBytes)
  })

  test('a busy loop halves the pace', async () => {
    world.busyShare = 0.4
    let pieces = 0
    const [one] = await beginMany(1)
    const taking = (async () => {
      while (!(await one?.iterator?.next())?.done) pieces++
    })()
    await world.advance(2000)
    expect(pieces).toBeGreaterThanOrEqual(10)
    expect(pieces).toBeLessThanOrEqual(11)
    await world.advance(10_000)
    await taking
  })

  test('a pause is not caught up', async () => {
    const [one] = await beginMany(1)
    await one?.iterator?.next()
    await world.advance(60_000)
    let pieces = 0
    const taking = (async () => {
      while (!(await one?.iterator?.next())?.done) pieces++
    })()
    await world.advance(500)
    expect(pieces).toBeLessThanOrEqual(7)
    await world.advance(10_000)
    await taking
  })

  test('a piece is read after the last was sent, and only a few concurrently', async () => {
    downloads = new ImageDownloads({ images, world, atOnceMax: 50, bytesPerSecondMax: 1e12 })
    const all = await beginMany(50)
    await world.settle()
    expect(readingMax).toBe(0)
    const taken = Promise.all(all.map(({ iterator }) => iterator?.next()))
    await world.advance(100)
    expect((await taken).every((next) => next?.value.length === piece)).toBe(true)
    expect(readingMax).toBe(4)
    expect(reading).toBe(0)
  })
})

test('a device has at most eight downloads, and does not block others', async () => {
  const own = Array.from({ length: 9 }, () => begin(sha256, 0, 1, 'SENSOR'))
  const other = begin(sha256, 0, 1)
  await world.settle()
  expect(own.map(({ error }) => error !== undefined)).toEqual([...Array(8).fill(false), true])
  expect(own[8]?.error).toMatchObject({ code: 'overloaded' })
  for (const { aborter } of own) aborter.abort()
  await world.settle()
  expect([other.error, other.iterator !== undefined]).toEqual([undefined, true])
  const again = Array.from({ length: 8 }, () => begin(sha256, 0, 1, 'SENSOR'))
  await world.settle()
  expect(again.map(({ error }) => error)).toEqual(Array(8).fill(undefined))
})
