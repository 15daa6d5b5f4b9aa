import { createHash } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { unpack } from 'msgpackr'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { smallFrameBytesMax } from '#link/frame-queue'
import { fragmentRows, lengthRows, pieceRows, pingRows, reservedRows } from '#test/attacks/frame-rows'
import { canaryName } from '#test/attacks/http-attack'
import { closeFrame, frame, handshake, handshakeLines, RawWebsocket } from '#test/attacks/raw-websocket'
import { attemptOn, protocols, type SocketAttack, type TestedProtocol } from '#test/attacks/socket-attack'
import { closeRows, deflateRows, extensionOffers, textRows } from '#test/attacks/text-rows'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/**
 * Sends hostile frames to the sockets for applications and for devices of a started server. RFC 6455.
 *
 * | Autobahn test suite | here |
 * |---|---|
 * | 1, 9.1, 9.2 | lengths of payloads |
 * | 2 | pings and pongs |
 * | 3, 4 | reserved bits and unmasked frames |
 * | 5 | fragments |
 * | 6 | text |
 * | 7 | closing |
 * | 9.3 to 9.6, 10.1 | the largest message in pieces |
 *
 * The suite sends messages of megabytes; here it is the largest accepted message. The suite expects echoes, and these
 * tests expect answers.
 */
const tables: Readonly<Record<string, (protocol: TestedProtocol) => readonly SocketAttack[]>> = {
  'lengths of payloads': lengthRows,
  'pings and pongs': pingRows,
  'reserved bits and unmasked frames': reservedRows,
  fragments: fragmentRows,
  'the largest message in pieces': pieceRows,
  closing: closeRows,
  'compression without the extension': (protocol) => deflateRows(protocol, (bytes) => deflateRawSync(bytes)),
}

let server: StartedServer
beforeAll(async () => {
  server = await StartedServer.start()
})
afterAll(() => server?.finish())

const rowsOf = Object.entries(protocols).flatMap(([name, protocol]) =>
  Object.entries({ ...tables, ...(name !== 'link in msgpack' && { text: textRows }) }).map(
    ([table, rows]) => [`${name}: ${table}`, protocol, rows(protocol)] as const,
  ),
)

describe.each(rowsOf)('%s', (_, protocol, rows) => {
  test.each(rows.map((row) => [row.name, row] as const))('%s', async (_name, row) => {
    const { end, refusals = 0, pongs = [] } = row
    const outcome = await attemptOn(server.port, protocol, row)
    const { answers = end === 'serves' ? 0 : outcome.answers } = row
    expect(outcome).toEqual({ end, pongs, answers, refusals, behindClose: 0 })
    expect((await server.get(`/devices/${canaryName}`)).status).toBe(404)
  })
})

test.each(['link in JSON', 'link in msgpack'] as const)(
  'these tests detect a message that creates the canary: %s',
  async (name) => {
    const { path, lines, opcode, canary } = protocols[name]
    const row = { name: '', sent: frame({ opcode, payload: canary() }), answers: 1, end: 'serves' } as const
    expect(await attemptOn(server.port, { ...protocols[name], path, lines }, row)).toMatchObject({ end: 'serves' })
    expect((await server.ask(`/devices/${canaryName}`, { method: 'DELETE' })).status).toBe(204)
  },
)

/** Section 7.1.6: the answer may come too late for the socket, but the message is read. */
test.each([
  ['link in JSON', (message: Buffer) => JSON.parse(message.toString())],
  ['link in msgpack', (message: Buffer) => unpack(message)],
] as const)('a large message directly before a close is read: %s', async (name, decode) => {
  const { opcode, message } = protocols[name]
  const largest = message(smallFrameBytesMax)
  const device = `/devices/${decode(largest).deviceIdentifier}`
  await server.ask(device, { method: 'DELETE' })
  const sent = Buffer.concat([frame({ opcode, payload: largest }), closeFrame(1000)])
  expect(await attemptOn(server.port, protocols[name], { name: '', sent, end: 1000 })).toMatchObject({ end: 1000 })
  await until(async () => (await server.get(device)).status === 200, `${device} to be there`)
})

describe.each(['/events', '/link'])('the handshake of %s', (path) => {
  const usual = { 'Sec-WebSocket-Protocol': path === '/link' ? 'link.v1.json' : undefined }
  const shake = async (lines: typeof handshakeLines) => {
    const websocket = new RawWebsocket(server.port).send(handshake(path, { ...usual, ...lines }))
    const status = await websocket.status()
    websocket.cut()
    return { status, head: websocket.head }
  }
  /** The value of `Sec-WebSocket-Accept`. RFC 6455 §4.2.2. */
  const acceptOf = (key: string) =>
    createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
  const key = String(handshakeLines['Sec-WebSocket-Key'])

  test.each<[string, typeof handshakeLines]>([
    ['the usual headers', {}],
    ['Upgrade in capitals', { Upgrade: 'WEBSOCKET' }],
    ['Upgrade behind another protocol', { Upgrade: 'h2c, WebSocket' }],
    ['Connection in lower case', { Connection: 'upgrade' }],
    ['Connection with Upgrade behind another option', { Connection: 'keep-alive, Upgrade' }],
    ['Connection with Upgrade before another option', { Connection: 'Upgrade,keep-alive' }],
    ['two lines of Connection', { Connection: ['keep-alive', 'Upgrade'] }],
    ['a length of 0', { 'Content-Length': '0' }],
    ['a cookie, a referer, an agent', { Cookie: 'a=b', Referer: 'x', 'User-Agent': 'y' }],
  ])('is accepted: %s', async (_, lines) => {
    const { status, head } = await shake(lines)
    expect(status).toBe(101)
    expect(head).toMatch(/\r\nUpgrade: websocket\r\n/i)
    expect(head).toMatch(/\r\nConnection: Upgrade\r\n/i)
    expect(head).toContain(`\r\nSec-WebSocket-Accept: ${acceptOf(key)}\r\n`)
    expect(head).not.toMatch(/extensions/i)
  })

  test.each<[string, typeof handshakeLines, number]>([
    ['no key', { 'Sec-WebSocket-Key': undefined }, 426],
    ['an empty key', { 'Sec-WebSocket-Key': '' }, 426],
    ['a short key', { 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZQ==' }, 426],
    ['a long key', { 'Sec-WebSocket-Key': `${key}AAAA` }, 426],
    ['a key that is not Base64', { 'Sec-WebSocket-Key': '!'.repeat(24) }, 426],
    ['two keys', { 'Sec-WebSocket-Key': [key, key] }, 426],
    ['version 12', { 'Sec-WebSocket-Version': '12' }, 426],
    ['version 14', { 'Sec-WebSocket-Version': '14' }, 426],
    ['version 013', { 'Sec-WebSocket-Version': '013' }, 426],
    ['a list of versions', { 'Sec-WebSocket-Version': '13, 8' }, 426],
    ['two versions', { 'Sec-WebSocket-Version': ['13', '13'] }, 426],
    ['no version', { 'Sec-WebSocket-Version': undefined }, 426],
    ['Upgrade to h2c', { Upgrade: 'h2c' }, 426],
    ['Upgrade with a typing error', { Upgrade: 'websockets' }, 426],
    ['no Upgrade', { Upgrade: undefined }, 426],
    ['Connection without Upgrade', { Connection: 'keep-alive' }, 426],
    ['Connection with a typing error', { Connection: 'Upgrades' }, 426],
    ['no Connection', { Connection: undefined }, 426],
    ['a body', { 'Content-Length': '2' }, 400],
    ['a body in chunks', { 'Transfer-Encoding': 'chunked' }, 400],
    ['two hosts', { Host: ['localhost', 'localhost'] }, 400],
    ['another origin', { Origin: 'https://evil.example' }, 403],
    ['the origin null', { Origin: 'null' }, 403],
  ])('is refused: %s', async (_, lines, status) => {
    expect((await shake(lines)).status).toBe(status)
  })

  test.each(extensionOffers)('accepts no extension: %s', async (offer) => {
    const { status, head } = await shake({ 'Sec-WebSocket-Extensions': offer })
    expect([status, /extensions/i.test(head)]).toEqual([101, false])
  })
})

test.each<[string, string | readonly string[] | undefined, number, string?]>([
  ['JSON', 'link.v1.json', 101, 'link.v1.json'],
  ['msgpack', 'link.v1.msgpack', 101, 'link.v1.msgpack'],
  ['the first known one of a list', 'mqtt, link.v1.msgpack, link.v1.json', 101, 'link.v1.msgpack'],
  ['the same one twice', 'link.v1.json, link.v1.json', 101, 'link.v1.json'],
  ['one in each of two headers', ['mqtt', 'link.v1.json'], 101, 'link.v1.json'],
  ['no header', undefined, 400],
  ['an empty header', '', 400],
  ['only commas', ',,,', 400],
  ['an unknown one', 'mqtt', 400],
  ['one in capitals', 'LINK.V1.JSON', 400],
  ['one with a digit behind', 'link.v1.json5', 400],
  ['one in quotes', '"link.v1.json"', 400],
  ['ten thousand characters', 'x'.repeat(10_000), 400],
])('the subprotocol of /link is chosen or refused: %s', async (_, offered, status, taken) => {
  const websocket = new RawWebsocket(server.port).send(handshake('/link', { 'Sec-WebSocket-Protocol': offered }))
  expect(await websocket.status()).toBe(status)
  expect(/\r\nSec-WebSocket-Protocol: (\S+)\r\n/i.exec(websocket.head)?.[1]).toBe(taken)
  websocket.cut()
})
