import { expect, test } from 'vitest'
import { ImageDownloads } from '#firmware/image-downloads'
import { openHttp, route, until, world } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'

test('a client that does not read its image loses its slot within 15 s', async () => {
  async function* endless() {
    for (;;) yield new Uint8Array(65_536)
  }
  const downloads = new ImageDownloads({ images: { read: endless }, world, atOnceMax: 1, bytesPerSecondMax: 1e12 })
  const http = await openHttp({
    bindings: [
      route('GET', '/image', async ({ signal }) => ({
        status: 200,
        headers: { 'Content-Type': 'application/octet-stream' },
        chunks: await downloads.begin('a'.repeat(64), 0, 1_000_000_000, signal, 'A'),
      })),
    ],
  })
  const stalled = new RawClient(http.port)
  stalled.socket.pause()
  stalled.send('GET /api/v1/image HTTP/1.1\r\nHost: a\r\n\r\n')
  await until(() => downloads.atOnce === 1)
  await until(() => downloads.atOnce === 0)
  expect(http.server.inFlight()).toBe(0)
  stalled.socket.destroy()
  await http.server.close()
})
