import { expect, test } from 'vitest'
import { openHttp, route } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'

/** The parser closes connections without progress after 8 to 12 seconds. */
const lateMs = 13_000

test.each(['close', 'keep-alive'])('an answer whose first chunk is late arrives: Connection %s', async (connection) => {
  async function* late() {
    await new Promise((resolve) => setTimeout(resolve, lateMs))
    yield '"late"'
  }
  const http = await openHttp({ bindings: [route('GET', '/late', () => ({ status: 200, chunks: late() }))] })
  const client = new RawClient(http.port)
  client.send(`GET /api/v1/late HTTP/1.1\r\nHost: a\r\nConnection: ${connection}\r\n\r\n`)
  await client.until(({ text, isClosed }) => isClosed || text.endsWith('0\r\n\r\n'))
  expect(client.text).toMatch(/^HTTP\/1\.1 200 .*"late"/s)
  client.socket.destroy()
  await http.server.close()
})
