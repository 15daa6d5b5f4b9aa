import { connect, type Socket as NetSocket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Socket } from '#runtime/socket'
import { until, world } from '#test/http/http-fixture'
import { handshake, openSocketHttp, type SocketRecorder } from '#test/http/socket-fixture'

type SocketHttp = Awaited<ReturnType<typeof openSocketHttp>>
let http: SocketHttp
let client: NetSocket
afterEach(async () => {
  client.destroy()
  await http.server.close()
})

const padding = 'p'.repeat(4000)
const numbered = (index: number) => `${String(index).padStart(6, '0')} ${padding}`

/** A client that reads nothing until it is told to, and then says which numbers came, in order. */
async function stalledClient() {
  client = connect(http.port, '127.0.0.1').pause()
  client.on('error', () => {})
  client.write(handshake('/events/t'))
  await until(() => http.room.count('opened') === 1)
  const chunks: Buffer[] = []
  client.on('data', (chunk) => chunks.push(chunk))
  client.pause()
  const numbers = () =>
    [
      ...Buffer.concat(chunks)
        .toString('latin1')
        .matchAll(/(\d{6}) p/g),
    ].map((match) => Number(match[1]))
  return { numbers, socket: http.room.get('opened')?.socket as Socket }
}

/** Masked with zeros. */
function clientFrame(opcode: number, text: string): Buffer {
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)])
}

/** Publishes until something is lost, and a thousand more; gives the socket's turn now and then, as real life does. */
async function publishUntilLost(room: SocketRecorder, more: number): Promise<number> {
  let index = 0
  for (let left = more; left > 0; index++) {
    http.server.publisher.publish('topic', numbered(index))
    if (index % 100 === 99) await new Promise((resolve) => setImmediate(resolve))
    if (room.count('dropped') > 0) left--
  }
  await new Promise((resolve) => setTimeout(resolve, 20))
  return index
}

test('of each stretch of lost messages the room is told once, and order holds around it', async () => {
  http = await openSocketHttp()
  const { numbers, socket } = await stalledClient()
  socket.subscribe('topic')
  const published = await publishUntilLost(http.room, 1000)
  expect(http.room.count('dropped')).toBe(1)
  socket.unsubscribe('topic')
  client.resume()
  await until(() => http.room.count('drained') > 0 && socket.bufferedBytes() === 0)
  const marker = published + 1
  expect(socket.send(numbered(marker))).toBe(true)
  await until(() => numbers().includes(marker))
  const heard = numbers()
  expect(heard.length).toBeLessThan(marker)
  expect(heard).toEqual([...heard].sort((a, b) => a - b))
  expect(heard.at(-1)).toBe(marker)
})

test('a second stretch is told again', async () => {
  http = await openSocketHttp()
  const { socket } = await stalledClient()
  socket.subscribe('topic')
  await publishUntilLost(http.room, 50)
  client.resume()
  await until(() => http.room.count('drained') > 0 && socket.bufferedBytes() === 0)
  client.pause()
  http.room.heard.length = 0
  await publishUntilLost(http.room, 50)
  expect(http.room.count('dropped')).toBe(1)
})

test('send says that it lost the message', async () => {
  http = await openSocketHttp()
  const { socket } = await stalledClient()
  let index = 0
  while (socket.send(numbered(index))) index++
  expect(socket.bufferedBytes()).toBeGreaterThan(64 * 1024)
  expect(http.room.count('dropped')).toBe(1)
})

test('one that does not read makes nobody wait', async () => {
  http = await openSocketHttp()
  const { socket } = await stalledClient()
  const reader = connect(http.port, '127.0.0.1')
  let received = 0
  reader.on('data', (chunk) => {
    received += chunk.byteLength
  })
  reader.write(handshake('/events/reader'))
  await until(() => http.room.count('opened') === 2)
  for (const { what, socket: each } of http.room.heard) if (what === 'opened') each.subscribe('topic')
  const published = await publishUntilLost(http.room, 100)
  await until(() => received > published * padding.length)
  expect(socket.bufferedBytes()).toBeGreaterThan(0)
  expect(http.room.count('dropped')).toBe(1)
  reader.destroy()
})

test.each(['end', 'unsubscribe', 'send', 'publish', 'cork'] as const)(
  '%s inside dropped is refused, not fatal',
  async (what) => {
    http = await openSocketHttp()
    const { socket } = await stalledClient()
    const acts: Record<typeof what, () => void> = {
      end: () => socket.end(4000, ''),
      unsubscribe: () => socket.unsubscribe('topic'),
      send: () => void socket.send('x'),
      publish: () => http.server.publisher.publish('topic', 'x'),
      cork: () => socket.cork(() => {}),
    }
    http.room.does = (heard) => {
      if (heard.what === 'dropped') acts[what]()
    }
    socket.subscribe('topic')
    await publishUntilLost(http.room, 10)
    // A room that does so is broken: its socket goes, later.
    await until(() => http.room.count('closed') === 1)
    expect(http.room.get('closed')?.code).toBe(1011)
    expect(http.log.lines.find(({ level }) => level === 'error')?.fields.err).toMatchObject({
      message: `${what} inside dropped: a socket room may only set state there`,
    })
  },
)

describe.each([
  ['with something in its buffer', (socket: Socket) => socket.bufferedBytes() > 0, [0]],
  ['over its limit', (socket: Socket) => !socket.send(padding), []],
] as const)('one that is ended %s', (_, isThere, published) => {
  /** What waits for its time. */
  const held: (() => void)[] = []
  let cancelled = 0
  /** But that something was lost. */
  const heard = () => http.room.heard.map(({ what }) => what).filter((what) => what !== 'dropped')
  let socket: Socket
  let numbers: () => number[]
  /** The last bytes that came. */
  let last: Buffer
  const closeFrame = Buffer.concat([Buffer.from([0x88, 6, 4408 >> 8, 4408 & 0xff]), Buffer.from('dead')])

  beforeEach(async () => {
    const after = (_: number, task: () => void) => {
      held.push(task)
      return () => {
        cancelled++
      }
    }
    http = await openSocketHttp({}, { world: { ...world, after } })
    ;({ socket, numbers } = await stalledClient())
    last = Buffer.alloc(0)
    client.on('data', (chunk) => {
      last = Buffer.concat([last, chunk]).subarray(-closeFrame.length)
    })
    socket.subscribe('topic')
    while (!isThere(socket)) socket.send(padding)
    held.length = 0
    cancelled = 0
    // Of the same tick, and so not handed over yet.
    http.server.publisher.publish('topic', numbered(0))
    socket.end(4408, 'dead')
  })

  test('is closed for its room at once, and hears the code behind all of it', async () => {
    expect(http.room.get('closed')?.code).toBe(4408)
    client.write(clientFrame(1, 'late'))
    http.server.publisher.publish('topic', numbered(1))
    client.resume()
    await until(() => last.equals(closeFrame))
    // What is published behind its end is not for it.
    expect(numbers()).toEqual(published)
    expect(heard()).toEqual(['opened', 'closed'])
  })

  test('is torn down when it does not read all of it in time', async () => {
    const ended = new Promise((resolve) => client.on('close', resolve))
    expect(held).toHaveLength(1)
    for (const task of held) task()
    client.resume()
    await ended
    expect(last.equals(closeFrame)).toBe(false)
    expect(heard()).toEqual(['opened', 'closed'])
  })

  test('is waited for no longer when it has gone', async () => {
    client.destroy()
    await until(() => cancelled === 1)
    for (const task of held) task()
    // What is asked to be done as input would be done before this answer.
    expect(await (await fetch(`http://127.0.0.1:${http.port}/`)).status).toBe(404)
    expect(heard()).toEqual(['opened', 'closed'])
  })
})

test('what is sent together arrives in order, and what is thrown comes out', async () => {
  http = await openSocketHttp()
  const { numbers, socket } = await stalledClient()
  client.resume()
  socket.send(numbered(0))
  socket.cork(() => {
    for (let index = 1; index < 100; index++) socket.send(numbered(index))
  })
  expect(() =>
    socket.cork(() => {
      socket.send(numbered(100))
      throw new Error('thrown together')
    }),
  ).toThrow('thrown together')
  socket.send(numbered(101))
  await until(() => numbers().length === 102)
  expect(numbers()).toEqual(Array.from({ length: 102 }, (_, index) => index))
  socket.cork(() => socket.end(4000, 'bye'))
  expect(http.room.get('closed')?.code).toBe(4000)
})
