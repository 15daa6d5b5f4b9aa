import { array, assert, asyncProperty, integer } from 'fast-check'
import { expect, test } from 'vitest'
import { allUnreadBytesMax, ReceivedBody, RequestEnded } from '#http/body-stream'
import { Problem } from '#model/problem'
import { admin } from '#test/http/http-fixture'

function bodyWithCalls(allUnread = { bytes: 0 }) {
  const calls: string[] = []
  const body = new ReceivedBody({
    lengthBytes: undefined,
    allUnread,
    hold: () => calls.push('hold'),
    release: () => calls.push('release'),
    progressed: () => undefined,
    stillPermitted: () => admin,
  })
  return { body, calls }
}
const chunkOf = (count: number, first = 0) =>
  Uint8Array.from({ length: count }, (_, index) => (first + index) & 0xff).buffer

async function readAll(body: ReceivedBody): Promise<{ sizes: number[]; bytes: Buffer; error: Error | undefined }> {
  const pieces: Uint8Array[] = []
  let error: Error | undefined
  try {
    // A piece is only valid until the next one.
    for await (const piece of body) pieces.push(piece.slice())
  } catch (thrown) {
    error = thrown as Error
  }
  return { sizes: pieces.map((piece) => piece.length), bytes: Buffer.concat(pieces), error }
}

test('chunks of any size are read as the same bytes', async () => {
  await assert(
    asyncProperty(array(integer({ min: 0, max: 40_000 }), { maxLength: 12 }), async (sizes) => {
      const { body } = bodyWithCalls()
      const reading = readAll(body)
      let count = 0
      for (const size of sizes) {
        body.add(chunkOf(size, count))
        count += size
        if (size % 3 === 0) await Promise.resolve()
      }
      body.finish()
      const { bytes, error } = await reading
      expect(error).toBeUndefined()
      expect(Buffer.compare(bytes, Buffer.from(chunkOf(count)))).toBe(0)
    }),
    { numRuns: 50 },
  )
})

test('single bytes are merged, without waiting for more', async () => {
  const { body } = bodyWithCalls()
  for (let index = 0; index < 40_000; index++) body.add(chunkOf(1, index))
  body.finish()
  const { sizes } = await readAll(body)
  expect(sizes).toEqual([16_384, 16_384, 40_000 - 2 * 16_384])

  const one = bodyWithCalls().body
  const pieces = one[Symbol.asyncIterator]()
  const first = pieces.next()
  one.add(chunkOf(1, 7))
  expect((await first).value).toEqual(Uint8Array.of(7))
})

test('the sender is held back once above 1 MiB of unread bytes, and released below 256 KiB', async () => {
  const { body, calls } = bodyWithCalls()
  const pieces = body[Symbol.asyncIterator]()
  for (let index = 0; index < 16; index++) body.add(chunkOf(65_536))
  expect(calls).toEqual([])
  body.add(chunkOf(65_536))
  body.add(chunkOf(65_536))
  expect(calls).toEqual(['hold'])
  while (body.unreadBytes >= 256 * 1024 + 65_536) await pieces.next()
  expect(calls).toEqual(['hold'])
  await pieces.next()
  await pieces.next()
  expect(calls).toEqual(['hold', 'release'])
})

test.each([
  ['everything was received', (body: ReceivedBody) => body.finish(), undefined, [2_000_000]],
  ['the body became too large', (body: ReceivedBody) => body.finish(new Problem('too_large')), Problem, [2_000_000]],
  ['the sender disconnected', (body: ReceivedBody) => body.drop(true), RequestEnded, [2_000_000]],
  ['the request was answered', (body: ReceivedBody) => body.drop(false), RequestEnded, []],
] as const)('when %s, the sender is released, and further bytes are ignored', async (_, end, error, sizes) => {
  const { body, calls } = bodyWithCalls()
  body.add(chunkOf(2_000_000))
  end(body)
  body.add(chunkOf(10))
  expect(calls).toEqual(['hold', 'release'])
  const found = await readAll(body)
  expect([found.sizes, found.error?.constructor]).toEqual([sizes, error])
})

test('a disconnect after the last byte is no error', async () => {
  const { body } = bodyWithCalls()
  body.add(chunkOf(10))
  body.finish()
  body.drop(true)
  expect(await readAll(body)).toMatchObject({ sizes: [10], error: undefined })
})

test('a piece stays unchanged until the next one is read; then its buffer is reused', async () => {
  const { body } = bodyWithCalls()
  const pieces = body[Symbol.asyncIterator]()
  const buffers = new Set<ArrayBufferLike>()
  for (let index = 0; index < 50; index++) {
    body.add(chunkOf(65_536, index))
    const { value } = await pieces.next()
    body.add(chunkOf(30_000, 99))
    expect(Buffer.compare(value, Buffer.from(chunkOf(65_536, index)))).toBe(0)
    buffers.add(value.buffer)
    await pieces.next()
  }
  expect(buffers.size).toBeLessThan(5)
})

test('a sender that ignores being held back is refused when the unread bytes of all bodies exceed the limit', async () => {
  const allUnread = { bytes: 0 }
  const first = bodyWithCalls(allUnread).body
  const { body } = bodyWithCalls(allUnread)
  first.add(chunkOf(10))
  const chunk = new ArrayBuffer(8 * 1024 * 1024)
  for (let count = 0; count < 40; count++) body.add(chunk)
  // The chunk that exceeded the limit is counted.
  expect(allUnread.bytes).toBe(10 + allUnreadBytesMax)
  const { error } = await readAll(body)
  expect(error).toMatchObject({ code: 'overloaded' })
  expect(allUnread.bytes).toBe(10)
  // The other body is unaffected.
  first.finish()
  expect(await readAll(first)).toMatchObject({ sizes: [10], error: undefined })
  expect(allUnread.bytes).toBe(0)
})

test.each([true, false])('a dropped body counts no unread bytes (received bytes stay readable: %s)', async (isKept) => {
  const allUnread = { bytes: 0 }
  const { body } = bodyWithCalls(allUnread)
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

test('a body can be read once', async () => {
  const { body } = bodyWithCalls()
  body.finish()
  await readAll(body)
  expect((await readAll(body)).error).toEqual(new Error('a body can be taken once'))
})
