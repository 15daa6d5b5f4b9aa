import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type Door, route } from '#test/http/door'
import { RawClient } from '#test/http/raw-client'
import { handshake, openSocketDoor } from '#test/http/socket-door'

let door: Door
beforeAll(async () => {
  door = await openSocketDoor(
    {},
    {
      bindings: [
        route('GET', '/plain', () => ({ status: 200, json: 1 })),
        route('GET', '/later', async () => {
          await new Promise((resolve) => setTimeout(resolve, 1))
          return { status: 200, json: 1 }
        }),
        route('POST', '/body', async (call) => ({ status: 200, json: call.body }), { body: { schema: z.unknown() } }),
      ],
    },
  )
})
afterAll(() => door.server.close())

const chunked =
  'POST /api/v1/body HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n[1,2\r\n1\r\n]\r\n0\r\n\r\n'
const counted =
  'POST /api/v1/body HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}'
const seeds = [
  'GET /api/v1/plain?a=b HTTP/1.1\r\nHost: a\r\nOrigin: http://a\r\nX-Request-Id: x\r\n\r\n',
  'HEAD /api/v1/later HTTP/1.1\r\nHost: a\r\n\r\n',
  counted,
  chunked,
  counted + chunked,
  `${handshake('/events/t')}\x81\x85\x01\x02\x03\x04\x69\x67\x6f\x68\x6e\x88\x80\x00\x00\x00\x00`,
]

/** The same sequence every time (mulberry32), so that what kills the server once kills it again. */
function sequence(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

function tear(text: string, pick: (below: number) => number): Buffer[] {
  const bytes = Buffer.from(text, 'latin1')
  for (let count = pick(4); count > 0; count--) bytes[pick(bytes.length)] = pick(256)
  const end = pick(3) === 0 ? pick(bytes.length) : bytes.length
  const cut = pick(end + 1)
  return [bytes.subarray(0, cut), bytes.subarray(cut, end)]
}

test.each([1, 2, 3, 4])('requests torn by sequence %i leave the server as it was', async (seed) => {
  const pick = sequence(seed)
  for (let round = 0; round < 10; round++) {
    const clients = Array.from({ length: 40 }, () => {
      const [first, second] = tear(seeds[pick(seeds.length)] ?? '', pick)
      const client = new RawClient(door.port).send(first ?? '')
      setImmediate(() => client.socket.writable && client.send(second ?? ''))
      return client
    })
    await new Promise((resolve) => setTimeout(resolve, 15))
    for (const client of clients) client.socket.destroy()
    expect((await fetch(`${door.base}/plain`)).status).toBe(200)
  }
  while (door.server.inFlight() > 0 || door.server.openSockets() > 0) {
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  expect(door.log.lines.filter((line) => line.level === 'error')).toEqual([])
})
