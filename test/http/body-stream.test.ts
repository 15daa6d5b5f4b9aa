import { array, assert, asyncProperty, integer } from 'fast-check'
import { expect, test } from 'vitest'
import { allUnreadBytesMax, ReceivedBody, RequestEnded } from '#http/body-stream'
import { Problem } from '#model/problem'
import { admin } from '#test/http/http-fixture'

function bodyThatSays(allUnread = { bytes: 0 }) {
  const said: string[] = []
  const body = new ReceivedBody({
    lengthBytes: undefined,
    allUnread,
    hold: () => said.push('hold'),
    release: () => said.push('release'),
    moved: () => undefined,
    stillPermitted: () => admin,
  })
  return { body, said }
}
const chunkOf = (count: number, first = 0) =>
  Uint8Array.from({ length: count }, (_, index) => (first + index) & 0xff).buffer

async function taken(body: ReceivedBody): Promise<{ sizes: number[]; bytes: Buffer; error: Error | undefined }> {
  const pieces: Uint8Array[] = []
  let error: Error | undefined
  try {
    // Lent until the next one.
    for await (const piece of body) pieces.push(piece.slice())
  } catch (thrown) {
    error = thrown as Error
  }
  return { sizes: pieces.map((piece) => piece.length), bytes: Buffer.concat(pieces), error }
}

test('chunks of any size come out as the same bytes', async () => {
  await assert(
    asyncProperty(array(integer({ min: 0, max: 40_000 }), { maxLength: 12 }), async (sizes) => {
      const { body } = bodyThatSays()
      const taking = taken(body)
      let count = 0
      for (const size of sizes) {
        body.add(chunkOf(size, count))
        count += size
        if (size % 3 === 0) await Promise.resolve()
      }
      body.finish()
      const { bytes, error } = await taking
      expect(error).toBeUndefined()
      expect(Buffer.compare(bytes, Buffer.from(chunkOf(count)))).toBe(0)
    }),
    { numRuns: 50 },
  )
})

test('single bytes are put together, but not waited for', async () => {
  const { body } = bodyThatSays()
  for (let index = 0; index < 40_000; index++) body.add(chunkOf(1, index))
  body.finish()
  const { sizes } = await taken(body)
  expect(sizes).toEqual([16_384, 16_384, 40_000 - 2 * 16_384])

  const one = bodyThatSays().body
  const pieces = one[Symbol.asyncIterator]()
  const first = pieces.next()
  one.add(chunkOf(1, 7))
  expect((await first).value).toEqual(Uint8Array.of(7))
})

test('the sender is held above a megabyte, once, and let go below a quarter', async () => {
  const { body, said } = bodyThatSays()
  const pieces = body[Symbol.asyncIterator]()
  for (let index = 0; index < 16; index++) body.add(chunkOf(65_536))
  expect(said).toEqual([])
  body.add(chunkOf(65_536))
  body.add(chunkOf(65_536))
  expect(said).toEqual(['hold'])
  while (body.unreadBytes >= 256 * 1024 + 65_536) await pieces.next()
  expect(said).toEqual(['hold'])
  await pieces.next()
  await pieces.next()
  expect(said).toEqual(['hold', 'release'])
})

test.each([
  ['all has come', (body: ReceivedBody) => body.finish(), undefined, [2_000_000]],
  ['it became too large', (body: ReceivedBody) => body.finish(new Problem('too_large')), Problem, [2_000_000]],
  ['the sender went away', (body: ReceivedBody) => body.drop(true), RequestEnded, [2_000_000]],
  ['the request was answered', (body: ReceivedBody) => body.drop(false), RequestEnded, []],
] as const)('when %s the sender is let go, and nothing more is taken in', async (_, end, error, sizes) => {
  const { body, said } = bodyThatSays()
  body.add(chunkOf(2_000_000))
  end(body)
  body.add(chunkOf(10))
  expect(said).toEqual(['hold', 'release'])
  const found = await taken(body)
  expect([found.sizes, found.error?.constructor]).toEqual([sizes, error])
})

test('who went away when all had come has sent it', async () => {
  const { body } = bodyThatSays()
  body.add(chunkOf(10))
  body.finish()
  body.drop(true)
  expect(await taken(body)).toMatchObject({ sizes: [10], error: undefined })
})

test('a piece is as it was until the next one is asked for, and its room is used again then', async () => {
  const { body } = bodyThatSays()
  const pieces = body[Symbol.asyncIterator]()
  const rooms = new Set<ArrayBufferLike>()
  for (let index = 0; index < 50; index++) {
    body.add(chunkOf(65_536, index))
    const { value } = await pieces.next()
    body.add(chunkOf(30_000, 99))
    expect(Buffer.compare(value, Buffer.from(chunkOf(65_536, index)))).toBe(0)
    rooms.add(value.buffer)
    await pieces.next()
  }
  expect(rooms.size).toBeLessThan(5)
})

test('who goes on sending though he is held back is refused when too much of all bodies waits', async () => {
  const allUnread = { bytes: 0 }
  const first = bodyThatSays(allUnread).body
  const { body } = bodyThatSays(allUnread)
  first.add(chunkOf(10))
  const chunk = new ArrayBuffer(8 * 1024 * 1024)
  for (let count = 0; count < 40; count++) body.add(chunk)
  // The one that was too much is among them.
  expect(allUnread.bytes).toBe(10 + allUnreadBytesMax)
  const { error } = await taken(body)
  expect(error).toMatchObject({ code: 'overloaded' })
  expect(allUnread.bytes).toBe(10)
  // Who was not held back goes on.
  first.finish()
  expect(await taken(first)).toMatchObject({ sizes: [10], error: undefined })
  expect(allUnread.bytes).toBe(0)
})

test.each([true, false])('what is dropped waits no more, taken or not; kept: %s', async (isKept) => {
  const allUnread = { bytes: 0 }
  const { body } = bodyThatSays(allUnread)
  body.add(chunkOf(50_000))
  body.add(chunkOf(50_000))
  const pieces = body[Symbol.asyncIterator]()
  await pieces.next()
  expect(allUnread.bytes).toBe(50_000)
  body.drop(isKept)
  expect(allUnread.bytes).toBe(0)
  await pieces.next().catch(() => {})
  expect(allUnread.bytes).toBe(0)
})

test('it is taken once', async () => {
  const { body } = bodyThatSays()
  body.finish()
  await taken(body)
  expect((await taken(body)).error).toEqual(new Error('a body can be taken once'))
})
