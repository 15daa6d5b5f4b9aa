import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { DeviceTunnels } from '#cluster/device-tunnels'
import { Forwarder } from '#cluster/forwarder'
import type { ClusterNode } from '#cluster/node'
import { tunnelPath } from '#cluster/tunnel-host'
import type { AnyWebsocketRoute, UpgradeRequest } from '#http/call'
import { Problem, type ProblemCode } from '#model/problem'
import { ForwardedConnection } from '#mqtt/forwarded-connection'
import type { Transport } from '#mqtt/transport'
import type { Socket } from '#runtime/socket'
import type { World } from '#runtime/world'
import { clusterNode } from '#test/cluster/cluster-node'
import { type HttpFixture, openHttp, until, world } from '#test/http/http-fixture'
import { SocketRecorder } from '#test/http/socket-fixture'

const path = '/link'

let owner: HttpFixture
let recorder: SocketRecorder
let edge: HttpFixture | undefined
let tunnels: DeviceTunnels
let isProxyTrusted: boolean
let isOwner: boolean
/** How the owner answers an upgrade. */
let upgrade: AnyWebsocketRoute['upgrade']
let upgrades: UpgradeRequest[]
let bugs: unknown[]
const devices: WebSocket[] = []

const route = {
  path,
  protocols: ['link.v1.json'],
  maxPayloadBytes: 4096,
  maxBackpressureBytes: 64 * 1024,
}

const tunnelsOf = (node: ClusterNode) =>
  new DeviceTunnels({ world, node, basePath: '/api/v1', bug: (error) => bugs.push(error) })

beforeEach(async () => {
  isProxyTrusted = false
  isOwner = true
  upgrades = []
  bugs = []
  recorder = new SocketRecorder()
  upgrade = () => 'opened'
  const node = clusterNode({ ownerUrl: () => (isOwner ? 'here' : undefined) })
  const links: AnyWebsocketRoute = {
    ...route,
    handler: recorder,
    upgrade(request) {
      upgrades.push(request)
      return upgrade(request)
    },
  }
  const ownerTunnels = tunnelsOf(node)
  ownerTunnels.carry(links)
  owner = await openHttp({ sockets: [ownerTunnels.host], otherNodes: new Forwarder(node) })
})

afterEach(async () => {
  for (const device of devices.splice(0)) device.terminate()
  await edge?.server.close()
  edge = undefined
  await owner.server.close()
})

async function openEdge(): Promise<HttpFixture> {
  if (edge) return edge
  const node = clusterNode({ ownerUrl: () => `http://127.0.0.1:${owner.port}` })
  const edgeRoute: AnyWebsocketRoute = {
    ...route,
    handler: new SocketRecorder(),
    upgrade: () => {
      throw new Error('answered by the edge')
    },
  }
  tunnels = tunnelsOf(node)
  edge = await openHttp({ sockets: [tunnels.carry(edgeRoute)], isProxyTrusted, otherNodes: new Forwarder(node) })
  return edge
}

async function connect(headers: Readonly<Record<string, string>> = {}, query = ''): Promise<WebSocket> {
  const { ws } = await openEdge()
  const device = new WebSocket(`${ws}${path}${query}`, ['link.v1.json'], { headers })
  devices.push(device)
  return device
}

async function openDevice(): Promise<WebSocket> {
  const device = await connect()
  await opened(device)
  return device
}

/** The status and Retry-After of a refused connection. */
const refusalOf = (device: WebSocket) =>
  new Promise<unknown[]>((resolve) => {
    device.on('error', () => {})
    device.once('unexpected-response', (_, { statusCode, headers }) => resolve([statusCode, headers['retry-after']]))
  })
const opened = (device: WebSocket) => new Promise<void>((resolve) => device.once('open', resolve))
const closed = (device: WebSocket) =>
  new Promise<[number, string]>((resolve) => device.once('close', (code, reason) => resolve([code, `${reason}`])))

describe('a device connection at a node that is not the owner', () => {
  const proxy = { 'X-Forwarded-For': '192.0.2.7', 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'devices.example' }
  const direct = { host: 'inside', origins: ['http://inside'], address: '127.0.0.1' }
  const proxied = { host: 'devices.example', origins: ['https://devices.example'], address: '192.0.2.7' }

  test.each([
    ['with its own address', false, {}, direct],
    ['without the forwarding headers of the device', false, proxy, direct],
    ['with the address and origin from a trusted proxy', true, proxy, proxied],
  ])('reaches the owner %s', async (_, isTrusted, headers, forwarded) => {
    isProxyTrusted = isTrusted
    const credentials = 'Basic €uro'
    const own = { Host: 'inside', Authorization: Buffer.from(credentials).toString('latin1'), 'X-Request-Id': 'mine' }
    await opened(await connect({ ...own, ...headers }, '?a=%E2%82%AC'))
    expect(upgrades).toMatchObject([{ forwarded, query: 'a=%E2%82%AC', requestId: 'mine', protocol: 'link.v1.json' }])
    expect(upgrades[0]?.header('authorization')).toBe(credentials)
  })

  test.each<[ProblemCode, string | undefined, refusal: unknown[]]>([
    ['too_many_requests', '7', [429, '7']],
    ['too_many_requests', undefined, [429, '60']],
    ['unauthorized', undefined, [401, undefined]],
    ['forbidden', undefined, [403, undefined]],
  ])(
    'is refused with the status and Retry-After of the owner: %s, Retry-After %s',
    async (code, retryAfter, refusal) => {
      upgrade = () => {
        throw new Problem(code, undefined, retryAfter === undefined ? {} : { headers: { 'Retry-After': retryAfter } })
      }
      expect(await refusalOf(await connect())).toEqual(refusal)
    },
  )

  test('waits while no node is the owner', async () => {
    isOwner = false
    const device = await connect()
    const opening = opened(device)
    await until(() => owner.log.lines.length > 0)
    isOwner = true
    await opening
  })

  test('carries messages, pings and the closure in both directions', async () => {
    const device = await openDevice()
    device.send('{"a":"€"}')
    device.send(new Uint8Array([1, 2]))
    await until(() => recorder.count('received') === 2)
    expect(recorder.events.filter(({ type }) => type === 'received')).toMatchObject([
      { text: '{"a":"€"}', isBinary: false },
      { text: '\u0001\u0002', isBinary: true },
    ])
    const socket = recorder.get('opened')?.socket
    socket?.ping()
    await until(() => recorder.count('ponged') === 1)
    const answers: string[] = []
    device.on('message', (data, isBinary) => answers.push(`${data} ${isBinary}`))
    const closing = closed(device)
    socket?.send('{"b":"€"}')
    socket?.send(Buffer.from('bytes'))
    socket?.end(4003, 'not allowed')
    expect(await closing).toEqual([4003, 'not allowed'])
    expect(answers).toEqual(['{"b":"€"} false', 'bytes true'])
    expect(recorder.events.filter(({ type }) => type === 'closed')).toMatchObject([{ socket, code: 4003 }])
    expect(socket?.send('late')).toBe(false)
  })

  test('informs the owner when the device has disconnected, and leaves other devices connected', async () => {
    const [device, other] = [await openDevice(), await openDevice()]
    await until(() => recorder.count('opened') === 2)
    device.close(4000)
    await until(() => recorder.count('closed') === 1)
    expect(recorder.get('closed')?.code).toBe(4000)
    other.send('still here')
    await until(() => recorder.count('received') === 1)
  })

  test('carries many and large messages in order', async () => {
    const device = await openDevice()
    const texts = Array.from({ length: 200 }, (_, number) => `${number}`.padEnd(number % 10 === 0 ? 4_000 : 10))
    for (const text of texts) device.send(text)
    await until(() => recorder.count('received') === texts.length)
    expect(recorder.events.flatMap(({ type, text }) => (type === 'received' ? [text] : []))).toEqual(texts)
  })

  test('is closed with 1011 after a bug, and other devices stay connected', async () => {
    const [device, other] = [await openDevice(), await openDevice()]
    recorder.onEvent = ({ text }) => {
      if (text === 'bad') throw new Error('a bug')
    }
    const closing = closed(device)
    device.send('bad')
    expect((await closing)[0]).toBe(1011)
    expect(bugs).toHaveLength(1)
    other.send('good')
    await until(() => recorder.events.some(({ text }) => text === 'good'))
  })

  test('is closed with 1012 when the owner ends', async () => {
    const device = await openDevice()
    const closing = closed(device)
    await until(() => recorder.count('opened') === 1)
    await owner.server.close()
    expect((await closing)[0]).toBe(1012)
    expect(recorder.count('closed')).toBe(1)
  })
})

class Client implements Transport {
  readonly address = '192.0.2.9'
  readonly steps: string[] = []
  unreadBytes = 0

  send(packet: Uint8Array): void {
    if (packet.length < 1_000) this.steps.push(Buffer.from(packet).toString())
    else this.unreadBytes += packet.length
  }

  unsentBytes(): number {
    return this.unreadBytes
  }

  pause(): void {
    this.steps.push('pause')
  }

  resume(): void {
    this.steps.push('resume')
  }

  close(): void {
    this.steps.push('close')
  }
}

describe('an MQTT client of a node', () => {
  const carry = (client: Client) => new ForwardedConnection(client, (socket) => tunnels.connect(path, socket))

  async function connected() {
    await openEdge()
    const client = new Client()
    const carried = carry(client)
    await until(() => client.steps.includes('resume'))
    return { client, carried }
  }

  test('is connected to the owner as a websocket is', async () => {
    const { client, carried } = await connected()
    expect(upgrades).toMatchObject([{ forwarded: { address: client.address }, remoteAddress: client.address }])
    carried.received(Buffer.from('bytes'))
    await until(() => recorder.count('received') === 1)
    const socket = recorder.get('received')?.socket
    socket?.send(Buffer.from('answer'))
    socket?.end(1000, '')
    await until(() => client.steps.includes('close'))
    expect(client.steps).toEqual(['pause', 'resume', 'answer', 'close'])
  })

  test('is not read while the owner does not read', async () => {
    const { client, carried } = await connected()
    recorder.onEvent = ({ socket }) => socket.pause?.()
    const chunk = new Uint8Array(64 * 1024)
    let sentBytes = 0
    for (client.steps.length = 0; client.steps.length === 0; sentBytes += chunk.length) carried.received(chunk)
    expect(sentBytes).toBeLessThan(1024 * 1024)
    await until(() => recorder.count('received') === sentBytes / chunk.length)
    expect(client.steps).toEqual(['pause'])
    recorder.get('opened')?.socket.resume?.()
    await until(() => client.steps.includes('resume'))
  })

  test('has its unread bytes counted at the owner, as a client of the owner has', async () => {
    const { client, carried } = await connected()
    const socket = recorder.get('opened')?.socket
    const message = new Uint8Array(1024 * 1024)
    socket?.send(message)
    await until(() => client.unreadBytes === message.length)
    expect(socket?.bufferedBytes()).toBe(message.length)
    client.unreadBytes = 100_000
    carried.drained()
    await until(() => recorder.count('drained') === 1)
    expect(socket?.bufferedBytes()).toBe(100_000)
  })

  test.each([
    ['its node stops', async () => tunnels.stop()],
    ['the owner ends', () => owner.server.close()],
  ])('gets its last message if %s', async (_, stop) => {
    const { client } = await connected()
    const socket = recorder.get('opened')?.socket
    socket?.setFarewell?.(Buffer.from('farewell'))
    socket?.send(Buffer.from('answer'))
    await until(() => client.steps.includes('answer'))
    await stop()
    await until(() => client.steps.includes('close'))
    expect(client.steps).toEqual(['pause', 'resume', 'answer', 'farewell', 'close'])
    await until(() => recorder.count('closed') === 1)
  })

  test('is closed after a lost message, and its later messages are not sent', async () => {
    await openEdge()
    const sent: string[] = []
    let isFull = false
    const carrier = {
      send(data: Uint8Array) {
        if (!isFull) sent.push(Buffer.from(data).toString())
        return !isFull
      },
      leave: () => void sent.push('left'),
      drained() {},
    }
    const client = new Client()
    const carried = new ForwardedConnection(client, () => Promise.resolve(carrier))
    await until(() => client.steps.includes('resume'))
    carried.received(Buffer.from('1'))
    isFull = true
    carried.received(Buffer.from('2'))
    isFull = false
    carried.received(Buffer.from('3'))
    expect(sent).toEqual(['1', 'left'])
    expect(client.steps).toContain('close')
  })

  test('gets messages that the owner sent together in one write', async () => {
    await openEdge()
    const writes: string[][] = [[]]
    const socket: Partial<Socket> = {
      send: (message) => writes.at(-1)?.push(`${message}`) !== undefined,
      end() {},
      cork(task) {
        writes.push([])
        task()
        writes.push([])
      },
    }
    await tunnels.connect(path, socket as Socket)
    await until(() => recorder.count('opened') === 1)
    for (const text of ['a', 'b', 'c']) recorder.get('opened')?.socket.send(text)
    await until(() => writes.flat().length === 3)
    expect(writes).toEqual([[], ['a', 'b', 'c'], []])
  })

  test('that disconnects before it is connected to the owner is disconnected there', async () => {
    await openEdge()
    carry(new Client()).closed()
    await until(() => recorder.count('closed') === 1)
  })

  test('is closed if the owner refuses the connection', async () => {
    upgrade = () => {
      throw new Problem('unauthorized')
    }
    await openEdge()
    const client = new Client()
    carry(client)
    await until(() => client.steps.includes('close'))
  })
})

test('the connection to an owner that answers no pings is closed', async () => {
  const silent = new WebSocketServer({ port: 0, autoPong: false })
  const closing = new Promise((resolve) => silent.once('connection', (socket) => socket.once('close', resolve)))
  const { port } = silent.address() as AddressInfo
  const fast: World = {
    ...world,
    monotonic: () => world.monotonic() * 100,
    after: (delayMs, task) => world.after(delayMs / 100, task),
  }
  const node = clusterNode({ ownerUrl: () => `http://127.0.0.1:${port}`, world: fast })
  const waiting = new DeviceTunnels({ world: fast, node, basePath: '/api/v1', bug: () => {} })
  const client = new Client()
  new ForwardedConnection(client, (socket) => waiting.connect(path, socket))
  await closing
  silent.close()
  await until(() => client.steps.includes('close'))
})

test('the path for tunnels refuses clients without the key of the nodes', async () => {
  await openEdge()
  const client = new WebSocket(`${owner.ws}${tunnelPath}`)
  expect(await refusalOf(client)).toEqual([404, undefined])
})
