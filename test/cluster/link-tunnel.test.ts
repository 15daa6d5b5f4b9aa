import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type RawData, WebSocket } from 'ws'
import { Forwarder } from '#cluster/forwarder'
import { tunnelledLinks } from '#cluster/link-tunnel'
import type { AnyWebsocketRoute, UpgradeRequest } from '#http/websocket-route'
import { Problem, type ProblemCode } from '#model/problem'
import { clusterNode } from '#test/cluster/cluster-node'
import { type HttpFixture, openHttp, until, world } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'
import { handshake, openSocketHttp, type SocketHttp, SocketRecorder } from '#test/http/socket-fixture'

const path = '/link'

let owner: SocketHttp
let edge: HttpFixture
let isProxyTrusted: boolean
/** How the owner answers an upgrade. */
let upgrade: AnyWebsocketRoute['upgrade']
let upgrades: UpgradeRequest[]
const devices: WebSocket[] = []

beforeEach(async () => {
  isProxyTrusted = false
  upgrades = []
  upgrade = () => 'opened'
  const answer = (request: UpgradeRequest) => {
    // Both are read from the request while it is valid.
    const { forwarded, remoteAddress } = request
    upgrades.push({ ...request, forwarded: { ...forwarded, address: forwarded.address }, remoteAddress })
    return upgrade(request)
  }
  const otherNodes = new Forwarder(clusterNode({ ownerUrl: () => 'here' }))
  owner = await openSocketHttp({ path, upgrade: answer, protocols: ['link.v1.json'] }, { otherNodes })
})

afterEach(async () => {
  for (const device of devices.splice(0)) device.terminate()
  await edge.server.close()
  await owner.server.close()
})

async function openEdge(): Promise<void> {
  const node = clusterNode({ ownerUrl: () => `http://127.0.0.1:${owner.port}` })
  const route: AnyWebsocketRoute = {
    path,
    room: new SocketRecorder(),
    upgrade: () => {
      throw new Error('answered by the edge')
    },
    protocols: ['link.v1.json'],
    maxPayloadBytes: 4096,
    maxBackpressureBytes: 64 * 1024,
  }
  const sockets = [tunnelledLinks({ world, node, route, path: `/api/v1${path}` })]
  edge = await openHttp({ sockets, isProxyTrusted, otherNodes: new Forwarder(node) })
}

async function connect(headers: Readonly<Record<string, string>> = {}, query = ''): Promise<WebSocket> {
  await openEdge()
  const device = new WebSocket(`${edge.ws}${path}${query}`, ['link.v1.json'], { headers })
  devices.push(device)
  return device
}

interface Refusal {
  readonly status: number | undefined
  readonly retryAfter: string | undefined
}

const refusalOf = (device: WebSocket) =>
  new Promise<Refusal>((resolve) => {
    device.on('error', () => {})
    device.once('unexpected-response', (_, { statusCode, headers }) =>
      resolve({ status: statusCode, retryAfter: headers['retry-after'] }),
    )
  })
const opened = (device: WebSocket) => new Promise<void>((resolve) => device.once('open', resolve))
const closed = (device: WebSocket) =>
  new Promise<[number, string]>((resolve) => device.once('close', (code, reason) => resolve([code, `${reason}`])))
const received = (device: WebSocket) => new Promise<RawData>((resolve) => device.once('message', resolve))

describe('a device connection at another node', () => {
  const proxy = { 'X-Forwarded-For': '192.0.2.7', 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'devices.example' }
  const direct = { host: 'inside', origins: ['http://inside'], address: '127.0.0.1' }

  test.each([
    ['as itself', false, {}, direct],
    ['without what the device claims', false, proxy, direct],
    [
      'as a trusted proxy sees it',
      true,
      proxy,
      { host: 'devices.example', origins: ['https://devices.example'], address: '192.0.2.7' },
    ],
  ])('reaches the owner %s', async (_, isTrusted, headers, forwarded) => {
    isProxyTrusted = isTrusted
    const own = { Host: 'inside', Authorization: 'Basic €uro', 'X-Request-Id': 'mine' }
    const asBytes = (text: string) => Buffer.from(text).toString('latin1')
    await opened(await connect({ ...own, Authorization: asBytes(own.Authorization), ...headers }, '?a=%E2%82%AC'))
    expect(upgrades).toMatchObject([{ forwarded, query: 'a=%E2%82%AC', requestId: 'mine', protocol: 'link.v1.json' }])
    expect(upgrades[0]?.header('authorization')).toBe(own.Authorization)
  })

  test.each<[ProblemCode, string | undefined, Refusal]>([
    ['too_many_requests', '7', { status: 429, retryAfter: '7' }],
    ['too_many_requests', undefined, { status: 429, retryAfter: '60' }],
    ['unauthorized', undefined, { status: 401, retryAfter: undefined }],
    ['forbidden', undefined, { status: 403, retryAfter: undefined }],
  ])('is refused as the owner refuses it: %s, Retry-After %s', async (code, retryAfter, refusal) => {
    upgrade = () => {
      throw new Problem(code, undefined, retryAfter === undefined ? {} : { headers: { 'Retry-After': retryAfter } })
    }
    expect(await refusalOf(await connect())).toEqual(refusal)
  })

  test('is refused for a control character in a header', async () => {
    await openEdge()
    const lines = 'Sec-WebSocket-Protocol: link.v1.json\r\nAuthorization: Basic a\x7fb\r\n\r\n'
    const client = new RawClient(edge.port).send(`${handshake(path).slice(0, -2)}${lines}`)
    expect(await client.answers(1)).toMatch(/^HTTP\/1\.1 400 /)
    expect(upgrades).toEqual([])
    client.socket.destroy()
  })

  test('carries messages and the closure both ways', async () => {
    const device = await connect()
    await opened(device)
    device.send('{"a":"€"}')
    device.send(new Uint8Array([1, 2]))
    await until(() => owner.room.count('received') === 2)
    expect(owner.room.events.filter(({ type }) => type === 'received')).toMatchObject([
      { text: '{"a":"€"}', isBinary: false },
      { text: '\u0001\u0002', isBinary: true },
    ])
    const socket = owner.room.get('opened')?.socket
    const answer = received(device)
    socket?.send('{}')
    expect(`${await answer}`).toBe('{}')
    const closing = closed(device)
    socket?.end(4003, 'not allowed')
    expect(await closing).toEqual([4003, 'not allowed'])
  })

  test('is closed with 1012 when the owner is gone', async () => {
    const device = await connect()
    await opened(device)
    const closing = closed(device)
    await until(() => owner.room.count('opened') === 1)
    await owner.server.close()
    expect((await closing)[0]).toBe(1012)
  })
})
