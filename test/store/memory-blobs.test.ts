import { expect, test } from 'vitest'
import { blobSuite, bytesMax, bytesOf, piecesOf } from '#test/store/blob-suite'
import { memoryBlobs } from '#test/store/memory-blobs'

blobSuite('in memory', async () => {
  let now = 0
  const store = memoryBlobs({ bytesMax, now: () => now })
  return {
    store,
    async restart() {
      await store.open()
      return store
    },
    wait(ms) {
      now += ms
    },
    async close() {},
  }
})

test.each([100, null])('a dead process writes and removes nothing (upload of %s bytes)', async (size) => {
  const store = memoryBlobs({ bytesMax })
  let go = () => {}
  const going = new Promise<void>((resolve) => {
    go = resolve
  })
  async function* pieces() {
    yield bytesOf(10)
    await going
    yield bytesOf(10)
  }
  const dead = store.receive('a', { from: 0, size }, pieces())
  await expect.poll(() => store.receivedOf('a')).toBe(10)
  await store.open()
  expect(await store.receive('a', { from: 10, size: 100 }, piecesOf(bytesOf(5)))).toEqual({ received: 15 })
  go()
  await expect(dead).rejects.toMatchObject({ code: 'storage' })
  expect(await store.receivedOf('a')).toBe(15)
})
