import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { headerRows, sizeRows, twiceRows } from '#test/attacks/header-rows'
import { attempt, canary, canaryName, get, type HttpAttack, post } from '#test/attacks/http-attack'
import { expectRows, pipeliningRows } from '#test/attacks/pipelining-rows'
import {
  behindChunksRows,
  chunkRows,
  lengthRows,
  namelessRows,
  seldomChunkRows,
  smugglingRows,
} from '#test/attacks/smuggling-rows'
import { methodRows, protocolRows, targetRows } from '#test/attacks/target-rows'
import { StartedServer } from '#test/blackbox/started-server'
import { RawClient } from '#test/http/raw-client'

/** Bytes as nobody honest sends them, over sockets of their own, against the started server. */
const tables: Readonly<Record<string, readonly HttpAttack[]>> = {
  'ambiguous framing': smugglingRows,
  'bad chunks': chunkRows,
  'seldom chunks': seldomChunkRows,
  'behind chunks': behindChunksRows,
  lengths: lengthRows,
  'headers without a name': namelessRows,
  headers: headerRows,
  'headers that come twice': twiceRows,
  'heads of every size': sizeRows,
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

/** Over another connection; answered at all, it says that the server goes on. */
async function isCanaryThere(): Promise<boolean> {
  const { status } = await server.get(`/devices/${canaryName}`)
  expect([200, 404]).toContain(status)
  return status === 200
}

describe.each(Object.entries(tables))('%s', (_, rows) => {
  test.each(rows.map((row) => [row.what, row] as const))('%s', async (_what, row) => {
    const { answers, end, text } = await attempt(server.port, row)
    const isUnheard = row.mayBeUnheard && answers.length === 0
    expect({ answers, end }).toEqual({ answers: isUnheard ? [] : row.answers, end: row.end })
    if (row.says) expect(text).toMatch(row.says)
    // As a request of its own, where the row says that it is answered as one.
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
])('the parser answers %s with the text in the documents', async (_, sent, answer) => {
  const client = new RawClient(server.port).send(sent)
  await client.closed()
  expect(client.text).toBe(`HTTP/1.1 ${answer}`)
})

test('a canary that is meant is seen', async () => {
  const client = new RawClient(server.port).send(canary)
  await client.answers(1)
  client.socket.destroy()
  expect(client.statuses).toEqual([201])
  expect(await isCanaryThere()).toBe(true)
  expect((await server.ask(`/devices/${canaryName}`, { method: 'DELETE' })).status).toBe(204)
})
