import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { headerRows, repeatedRows, sizeRows } from '#test/attacks/header-rows'
import { attempt, canary, canaryName, get, type HttpAttack, post } from '#test/attacks/http-attack'
import { expectRows, pipeliningRows } from '#test/attacks/pipelining-rows'
import {
  behindChunksRows,
  chunkRows,
  lengthRows,
  namelessRows,
  smugglingRows,
  unusualChunkRows,
} from '#test/attacks/smuggling-rows'
import { methodRows, protocolRows, targetRows } from '#test/attacks/target-rows'
import { StartedServer } from '#test/blackbox/started-server'
import { RawClient } from '#test/http/raw-client'

/** Hostile bytes over raw sockets, against a started server. */

const tables: Readonly<Record<string, readonly HttpAttack[]>> = {
  'ambiguous framing': smugglingRows,
  'bad chunks': chunkRows,
  'unusual chunks': unusualChunkRows,
  'bytes behind chunks': behindChunksRows,
  lengths: lengthRows,
  'headers without a name': namelessRows,
  headers: headerRows,
  'repeated headers': repeatedRows,
  'sizes of heads': sizeRows,
  targets: targetRows,
  methods: methodRows,
  'other protocols': protocolRows,
  pipelining: pipeliningRows,
  'Expect: 100-continue': expectRows,
}

let server: StartedServer
beforeAll(async () => {
  server = await StartedServer.start()
})
afterAll(() => server?.finish())

/** Sends a request over another connection, which also shows that the server still works. */
async function isCanaryThere(): Promise<boolean> {
  const { status } = await server.get(`/devices/${canaryName}`)
  expect([200, 404]).toContain(status)
  return status === 200
}

describe.each(Object.entries(tables))('%s', (_, rows) => {
  test.each(rows.map((row) => [row.name, row] as const))('%s', async (_name, row) => {
    const { answers, end, text } = await attempt(server.port, row)
    const isUnanswered = row.mayBeUnanswered && answers.length === 0
    expect({ answers, end }).toEqual({ answers: isUnanswered ? [] : row.answers, end: row.end ?? 'open' })
    if (row.text) expect(text).toMatch(row.text)
    // The canary may be executed only if the row expects its answer.
    const isThere = await isCanaryThere()
    if (isThere) await server.ask(`/devices/${canaryName}`, { method: 'DELETE' })
    expect(isThere).toBe(row.answers.includes(201))
  })
})

const end = '<hr><i>uWebSockets/20 Server</i>'
test.each([
  [
    'no Host',
    get().replace('Host: localhost', 'X-A: b'),
    `400 Bad Request\r\nConnection: close\r\n\r\n<h1>Bad Request</h1>${end}`,
  ],
  [
    'a length with chunks',
    `${post('Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
    `400 Bad Request\r\nConnection: close\r\n\r\n<h1>Bad Request</h1>${end}`,
  ],
  [
    'a large head',
    get([`X-A: ${'a'.repeat(17_408)}`]),
    `431 Request Header Fields Too Large\r\nConnection: close\r\n\r\n<h1>Request Header Fields Too Large</h1>${end}`,
  ],
  [
    'another version',
    get().replace('HTTP/1.1', 'HTTP/1.0'),
    `505 HTTP Version Not Supported\r\nConnection: close\r\n\r\n<h1>HTTP Version Not Supported</h1><p>This server does not support HTTP/1.0.</p>${end}`,
  ],
])('the parser answers %s with the documented text', async (_, sent, answer) => {
  const client = new RawClient(server.port).send(sent)
  await client.closed()
  expect(client.text).toBe(`HTTP/1.1 ${answer}`)
})

test('these tests detect a request that creates the canary', async () => {
  const client = new RawClient(server.port).send(canary)
  await client.answers(1)
  client.socket.destroy()
  expect(client.statuses).toEqual([201])
  expect(await isCanaryThere()).toBe(true)
  expect((await server.ask(`/devices/${canaryName}`, { method: 'DELETE' })).status).toBe(204)
})
