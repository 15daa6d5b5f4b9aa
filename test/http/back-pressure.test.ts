import { connect, type Socket as NetSocket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Socket } from '#runtime/socket'
import { until, world } from '#test/http/http-fixture'
import { handshake, openSocketHttp, type SocketHttp, type SocketRecorder } from '#test/http/socket-fixture'

let http: SocketHttp
let client: NetSocket
afterEach(async () => {
  client.destroy()
  await http.server.close()
})

const padding = 'p'.repeat(4000)
const numbered = (index: number) => `${String(index).padStart(6, '0')} ${padding}`

/** A paused client that records the numbers of its messages once it is resumed. */
async function stalledClient() {
  client = connect(http.port, '127.0.0.1').pause()
  client.on('error', () => {})
  client.write(handshake('/events/t'))
  await until(() => http.recorder.count('opened') === 1)
  const chunks: Buffer[] = []
  client.on('data', (chunk) => chunks.push(chunk))
  client.pause()
  const numbers = () =>
    [
      ...Buffer.concat(chunks)
        .toString('latin1')
        .matchAll(/(\d{6}) p/g),
    ].map((match) => Number(match[1]))
  return { numbers, socket: http.recorder.get('opened')?.socket as Socket }
}

/** A frame with a mask of zeros. */
function clientFrame(opcode: number, text: string): Buffer {
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)])
}

/** Publishes until a message is dropped, and `more` messages after it; yields to the event loop between. */
async function publishUntilDropped(recorder: SocketRecorder, more: number): Promise<number> {
  let index = 0
  for (let left = more; left > 0; index++) {
    http.server.publisher.publish('topic', numbered(index))
    if (index % 100 === 99) await new Promise((resolve) => setImmediate(resolve))
    if (recorder.count('dropped') > 0) left--
  }
  await new Promise((resolve) => setTimeout(resolve, 20))
  return index
}

test('a series of dropped messages is reported once, and the other messages stay in order', async () => {
  http = await openSocketHttp()
  const { numbers, socket } = await stalledClient()
  socket.subscribe('topic')
  const published = await publishUntilDropped(http.recorder, 1000)
  expect(http.recorder.count('dropped')).toBe(1)
  socket.unsubscribe('topic')
  client.resume()
  await until(() => http.recorder.count('drained') > 0 && socket.bufferedBytes() === 0)
  const marker = published + 1
  expect(socket.send(numbered(marker))).toBe(true)
  await until(() => numbers().includes(marker))
  const received = numbers()
  expect(received.length).toBeLessThan(marker)
  expect(received).toEqual([...received].sort((a, b) => a - b))
  expect(received.at(-1)).toBe(marker)
})

test('a second series of dropped messages is reported again', async () => {
  http = await openSocketHttp()
  const { socket } = await stalledClient()
  socket.subscribe('topic')
  await publishUntilDropped(http.recorder, 50)
  client.resume()
  await until(() => http.recorder.count('drained') > 0 && socket.bufferedBytes() === 0)
  client.pause()
  http.recorder.events.length = 0
  await publishUntilDropped(http.recorder, 50)
  expect(http.recorder.count('dropped')).toBe(1)
})

test('send returns false for a dropped message', async () => {
  http = await openSocketHttp()
  const { socket } = await stalledClient()
  let index = 0
  while (socket.send(numbered(index))) index++
  expect(socket.bufferedBytes()).toBeGreaterThan(64 * 1024)
  expect(http.recorder.count('dropped')).toBe(1)
})

test('a client that does not read delays no other client', async () => {
  http = await openSocketHttp()
  const { socket } = await stalledClient()
  const reader = connect(http.port, '127.0.0.1')
  let received = 0
  reader.on('data', (chunk) => {
    received += chunk.byteLength
  })
  reader.write(handshake('/events/reader'))
  await until(() => http.recorder.count('opened') === 2)
  for (const { type, socket: each } of http.recorder.events) if (type === 'opened') each.subscribe('topic')
  const published = await publishUntilDropped(http.recorder, 100)
  await until(() => received > published * padding.length)
  expect(socket.bufferedBytes()).toBeGreaterThan(0)
  expect(http.recorder.count('dropped')).toBe(1)
  reader.destroy()
})

test.each(['end', 'unsubscribe', 'send', 'publish', 'cork'] as const)(
  'a call of %s in the handler dropped is refused, and closes the socket',
  async (method) => {
    http = await openSocketHttp()
    const { socket } = await stalledClient()
    const acts: Record<typeof method, () => void> = {
      end: () => socket.end(4000, ''),
      unsubscribe: () => socket.unsubscribe('topic'),
      send: () => void socket.send('x'),
      publish: () => http.server.publisher.publish('topic', 'x'),
      cork: () => socket.cork(() => {}),
    }
    http.recorder.onEvent = ({ type }) => {
      if (type === 'dropped') acts[method]()
    }
    socket.subscribe('topic')
    await publishUntilDropped(http.recorder, 10)
    // The socket of such a handler is closed in a later tick.
    await until(() => http.recorder.count('closed') === 1)
    expect(http.recorder.get('closed')?.code).toBe(1011)
    expect(http.log.lines.find(({ level }) => level === 'error')?.fields.err).toMatchObject({
      message: `${method} was called inside the handler's dropped, which may only set state`,
    })
  },
)

describe.each([
  ['with unsent bytes', (socket: Socket) => socket.bufferedBytes() > 0, [0]],
  ['with more unsent bytes than its limit', (socket: Socket) => !socket.send(padding), []],
] as const)('a socket that is ended %s', (_, isReached, published) => {
  /** The timers of the server: only this test runs them. */
  const held: (() => void)[] = []
  let cancelled = 0
  /** All events but `dropped`. */
  const events = () => http.recorder.events.map(({ type }) => type).filter((type) => type !== 'dropped')
  let socket: Socket
  let numbers: () => number[]
  /** The end of what the client received, as long as a close frame. */
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
    while (!isReached(socket)) socket.send(padding)
    held.length = 0
    cancelled = 0
    // Published right before the end, so the message is still queued.
    http.server.publisher.publish('topic', numbered(0))
    socket.end(4408, 'dead')
  })

  test('is closed at once for its handler, and sends the code after all queued messages', async () => {
    expect(http.recorder.get('closed')?.code).toBe(4408)
    client.write(clientFrame(1, 'late'))
    http.server.publisher.publish('topic', numbered(1))
    client.resume()
    await until(() => last.equals(closeFrame))
    // Messages that are published after the end are not sent.
    expect(numbers()).toEqual(published)
    expect(events()).toEqual(['opened', 'closed'])
  })

  test('is destroyed when the client does not read everything in time', async () => {
    const ended = new Promise((resolve) => client.on('close', resolve))
    expect(held).toHaveLength(1)
    for (const task of held) task()
    client.resume()
    await ended
    expect(last.equals(closeFrame)).toBe(false)
    expect(events()).toEqual(['opened', 'closed'])
  })

  test('cancels its timer when the client disconnects', async () => {
    client.destroy()
    await until(() => cancelled === 1)
    for (const task of held) task()
    // Any task that was queued as input would run before this answer.
    expect(await (await fetch(`http://127.0.0.1:${http.port}/`)).status).toBe(404)
    expect(events()).toEqual(['opened', 'closed'])
  })
})

test('corked messages arrive in order, and an error inside cork is rethrown', async () => {
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
      throw new Error('thrown in cork')
    }),
  ).toThrow('thrown in cork')
  socket.send(numbered(101))
  await until(() => numbers().length === 102)
  expect(numbers()).toEqual(Array.from({ length: 102 }, (_, index) => index))
  socket.cork(() => socket.end(4000, 'bye'))
  expect(http.recorder.get('closed')?.code).toBe(4000)
})
