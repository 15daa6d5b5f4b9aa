import { afterEach, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { websocketRoute } from '#http/call'
import type { Socket, SocketHandler } from '#runtime/socket'
import { ann, bob, subscribed } from '#test/events/subscription-entries'
import { TestStream } from '#test/events/test-stream'
import { type HttpFixture, openHttp, until } from '#test/http/http-fixture'

/** Public events are published to a topic, and personal events are sent to the socket. Both must arrive in order. */

let http: HttpFixture
let stream: TestStream
let client: WebSocket
let socket: Socket | undefined

/** Calls the hub as the server does. */
const handler: SocketHandler<unknown> = {
  opened(opened) {
    socket = opened
    stream.hub.add(opened, stream.listener({ user: ann }), undefined)
  },
  received: () => {},
  dropped: (dropped) => stream.hub.dropped(dropped),
  drained: (drained) => stream.hub.drained(drained),
  ponged: () => {},
  closed: (closed) => stream.hub.remove(closed),
}

/** Opens a client. Returns the list of the events that it receives, with type and offset. */
async function open(maxBackpressureBytes: number): Promise<[type: string, offset: number][]> {
  const route = websocketRoute({
    path: '/events',
    handler,
    upgrade: () => ({}),
    maxPayloadBytes: 4096,
    maxBackpressureBytes,
  })
  http = await openHttp({ sockets: [route] })
  stream = new TestStream(maxBackpressureBytes / 4, {
    publish: (...message) => http.server.publisher.publish(...message),
  })
  const received: [string, number][] = []
  client = new WebSocket(`${http.ws}/events`, { perMessageDeflate: false })
  client.on('message', (data) => {
    const { type, offset } = JSON.parse(String(data))
    received.push([type, offset])
  })
  await until(() => socket !== undefined && client.readyState === WebSocket.OPEN)
  return received
}

afterEach(async () => {
  socket = undefined
  client.terminate()
  await http.server.close()
})

const tick = () => new Promise((resolve) => setImmediate(resolve))

/** Publishes metadata of this length, which all clients receive. */
function publishMetadata(characters: number): void {
  stream.publish({ kind: 'meta_set', device: 'A', at: 5, meta: { note: 'x'.repeat(characters) } })
}

// uWebSockets.js does not combine messages of 16 KiB or more with others.
test.each([
  ['small', [10]],
  ['large', [20_000]],
  ['mixed', [10, 20_000, 300]],
])('thousands of alternating public and personal events keep their order, with %s public events', async (_, sizes) => {
  const received = await open(1024 * 1024 * 1024)
  const expected: [string, number][] = []
  const roundsOf = sizes.includes(20_000) ? 1_000 : 5_000
  for (let round = 0; round < roundsOf; round++) {
    publishMetadata(sizes[round % sizes.length] as number)
    expected.push(['META_SET', stream.last])
    stream.publish(subscribed(bob), subscribed(ann))
    expected.push(['NOTIFICATION_SUBSCRIBE', stream.last])
    if (round % 7 === 0) await tick()
  }
  await until(() => received.length >= expected.length)
  expect(received).toEqual(expected)
})

test('a stalled socket receives all personal events once, or a RESYNC', async () => {
  const received = await open(64 * 1024)
  const personal: number[] = []
  for (let round = 0; round < 600; round++) {
    if (round === 20) client.pause()
    publishMetadata(30_000)
    stream.publish(subscribed(ann))
    personal.push(stream.last)
    publishMetadata(500)
    if (round === 500) client.resume()
    if (round % 3 === 0) await tick()
    stream.world.step()
  }
  expect(stream.hub.counts.fallen).toBeGreaterThan(0)
  stream.hub.beforeRelease()
  while (stream.hub.behindCount() > 0) {
    await stream.settle()
    await tick()
    stream.hub.beforeRelease()
  }
  stream.publish(subscribed(ann))
  const { last } = stream
  await until(() => {
    stream.hub.beforeRelease()
    stream.world.step()
    return received.at(-1)?.[1] === last
  })
  let offset = 0
  for (const [type, at] of received) {
    expect(at).toBeGreaterThanOrEqual(type === 'RESYNC' ? offset : offset + 1)
    offset = at
  }
  // No personal event is missing after the last RESYNC, or since the start if there was no RESYNC.
  const begun = received.findLast(([type]) => type === 'RESYNC')?.[1] ?? 0
  const receivedPersonal = received
    .filter(([type, at]) => type === 'NOTIFICATION_SUBSCRIBE' && at > begun)
    .map(([, at]) => at)
  expect(receivedPersonal).toEqual([...personal, last].filter((at) => at > begun))
})
