import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { headerRows, sizeRows, twiceRows } from '#test/attacks/header-rows'
import { attempt, canary, canaryName, type HttpAttack } from '#test/attacks/http-attack'
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
import { RawClient } from '#test/server/raw-client'

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

test('a canary that is meant is seen', async () => {
  const client = new RawClient(server.port).send(canary)
  await client.answers(1)
  client.socket.destroy()
  expect(client.statuses).toEqual([201])
  expect(await isCanaryThere()).toBe(true)
  expect((await server.ask(`/devices/${canaryName}`, { method: 'DELETE' })).status).toBe(204)
})
