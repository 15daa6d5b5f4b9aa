import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import type { BlobStore } from '#runtime/blobs'
import { fileBlobs } from '#store/blobs'
import { type HttpFixture, openHttp, route, until } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'
import { bytesOf, hashOf } from '#test/store/blob-suite'

const size = 8 * 1024 * 1024
const bytes = bytesOf(size)

let folder: string
let store: BlobStore
let http: HttpFixture
let underWay = 0

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'upload-'))
  store = fileBlobs({ folder, bytesMax: size, headroomBytes: 0, now: Date.now })
  await store.open()
  http = await openHttp({
    bindings: [
      route(
        'PUT',
        '/image',
        async (call) => {
          if (!call.upload) throw new Error('not streamed')
          const from = Number(call.header('x-from'))
          underWay++
          const received = store.receive('a', { from, size }, call.upload).finally(() => underWay--)
          return { status: 200, json: await received }
        },
        { body: { schema: z.unknown(), contentTypes: 'any', isStreamed: true } },
      ),
    ],
  })
})
afterEach(async () => {
  await http.server.close()
  await rm(folder, { recursive: true })
})

const put = async (from: number) => {
  const headers = { 'X-From': String(from) }
  const answer = await request(`${http.base}/image`, { method: 'PUT', headers, body: bytes.subarray(from) })
  return { status: answer.statusCode, json: await answer.body.json() }
}
const image = { received: size, image: { sha256: hashOf(bytes), size } }

test('an image arrives in its file', async () => {
  expect(await put(0)).toEqual({ status: 200, json: image })
  let received = 0
  for await (const piece of store.read(image.image.sha256, 0, size)) {
    expect(Buffer.compare(piece, bytes.subarray(received, received + piece.length))).toBe(0)
    received += piece.length
  }
  expect(received).toBe(size)
})

test('an upload that breaks off repeatedly resumes at the received size', async () => {
  let from = 0
  for (const share of [0.1, 0.5, 0.9]) {
    const to = Math.floor(size * share)
    const client = new RawClient(http.port)
    client.send(`PUT /api/v1/image HTTP/1.1\r\nHost: a\r\nX-From: ${from}\r\nContent-Length: ${size - from}\r\n\r\n`)
    client.send(bytes.subarray(from, to))
    await expect.poll(() => store.receivedOf('a')).toBe(to)
    client.socket.destroy()
    await until(() => underWay === 0)
    from = to
  }
  expect(await put(from)).toEqual({ status: 200, json: image })
  expect(http.log.lines.filter(({ level }) => level === 'error')).toEqual([])
})
