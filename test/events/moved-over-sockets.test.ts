import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { scopeOf } from '#model/scope'
import type { Socket, SocketRoom } from '#runtime/socket'
import { websocketRoute } from '#server/websocket-route'
import { ToldStream } from '#test/events/told-stream'
import { ManualWorld } from '#test/runtime/manual-world'
import { type Door, openDoor, until } from '#test/server/door'

/** What uWebSockets.js holds back of publishes, and what it lets out first when something is sent, is not ours to say. */

const accessTo = (device: string) => ({
  access: device,
  scope: scopeOf([{ permissions: { '*': ['read'] }, devices: [device], services: ['*'] }]),
})
const accesses = [accessTo('A'), accessTo('B')] as const

let door: Door
let stream: ToldStream
let client: WebSocket
let socket: Socket | undefined
let heard: { type: string; offset: number; deviceIdentifier?: string }[]

/** As the room of dashboards does. */
const room: SocketRoom<unknown> = {
  opened(opened) {
    socket = opened
    stream.hub.add(opened, stream.listener(accesses[0]), undefined)
  },
  received: () => {},
  dropped: (dropped) => stream.hub.dropped(dropped),
  drained: (drained) => stream.hub.drained(drained),
  ponged: () => {},
  closed: (closed) => stream.hub.remove(closed),
}

async function open(maxBackpressureBytes: number): Promise<Socket> {
  const path = '/events'
  const route = websocketRoute({ path, room, upgrade: () => ({}), maxPayloadBytes: 4096, maxBackpressureBytes })
  door = await openDoor({ sockets: [route] })
  stream = new ToldStream(maxBackpressureBytes / 4, {
    publish: (...message) => door.server.publisher.publish(...message),
  })
  // Of its own: what an earlier client still reads is none of this one's.
  const mine: typeof heard = []
  heard = mine
  client = new WebSocket(door.ws + path, { perMessageDeflate: false })
  client.on('message', (data) => mine.push(JSON.parse(String(data))))
  // Before it is open at its end too, nothing stalls it.
  await until(() => socket !== undefined && client.readyState === WebSocket.OPEN)
  return socket as Socket
}

beforeEach(() => {
  socket = undefined
})
afterEach(async () => {
  client.terminate()
  await door.server.close()
})

const tick = () => new Promise((resolve) => setImmediate(resolve))
const lineOf = ({ type, offset, deviceIdentifier }: (typeof heard)[number]) =>
  `${type === 'RESYNC' ? type : deviceIdentifier} ${offset}`

/** A note of so many characters about a device. */
function note(device: string, characters: number): number {
  stream.tell({ kind: 'meta_set', device, at: 5, meta: { note: 'x'.repeat(characters) } })
  return stream.last
}

/** Chance, the same each time. */
function dice(seed: number): (below: number) => number {
  const world = new ManualWorld({ seed })
  return (below) => ((world.random(1)[0] as number) * below) >> 8
}

describe('moving from class to class over a real socket', () => {
  // From 16 KiB on a message is not gathered with others.
  test.each([
    ['small messages', [10]],
    ['large ones', [20_000]],
    ['both', [10, 20_000, 300]],
  ])('in the tick of what is told: what was before, RESYNC, what comes after: %s', async (_, sizes) => {
    const moving = await open(256 * 1024 * 1024)
    const below = dice(1)
    const expected: string[] = []
    const tell = (mine: string) => {
      for (const device of ['A', 'B', 'A', 'B', 'A', 'B']) {
        const offset = note(device, sizes[below(sizes.length)] as number)
        if (device === mine) expected.push(`${device} ${offset}`)
      }
    }
    for (let round = 0; round < 1_000; round++) {
      const [before, after] = round % 2 === 0 ? ['A', 'B'] : ['B', 'A']
      tell(before as string)
      stream.hub.move(moving, accesses[(round + 1) % 2] as (typeof accesses)[number])
      expected.push(`RESYNC ${stream.last}`)
      tell(after as string)
      if (below(3) === 0) await tick()
    }
    await until(() => heard.length >= expected.length)
    expect(heard.map(lineOf)).toEqual(expected)
  })

  test.each([1, 2, 3, 4, 5])(
    'while it stalls and falls behind: no class is heard behind the RESYNC that ends it (%i)',
    async (seed) => {
      const moving = await open(64 * 1024)
      const below = dice(seed)
      let isStalled = false
      let at = 0
      for (let round = 0; round < 300; round++) {
        // Until it has fallen behind, and some rounds more: the kernel's own buffers of some megabytes are filled first.
        if (stream.hub.behindCount() === 0 ? !isStalled : below(8) === 0) {
          isStalled = !isStalled
          if (isStalled) client.pause()
          else client.resume()
        }
        for (let count = below(40); count > 0; count--) note(below(2) === 0 ? 'A' : 'B', below(2) === 0 ? 30_000 : 500)
        if (below(2) === 0) stream.hub.move(moving, accesses[++at % 2] as (typeof accesses)[number], below(2) === 0)
        for (let count = below(40); count > 0; count--) note(below(2) === 0 ? 'A' : 'B', 500)
        if (below(2) === 0) await tick()
        stream.world.step()
      }
      expect(stream.hub.counts.fallen).toBeGreaterThan(0)
      client.resume()
      stream.hub.beforeRelease()
      while (stream.hub.behindCount() > 0) {
        await stream.settle()
        await tick()
        stream.hub.beforeRelease()
      }
      const device = at % 2 === 0 ? 'A' : 'B'
      note(device === 'A' ? 'B' : 'A', 10)
      let last: number
      // Where its buffer was full once more it is caught up, which takes the world's turns; or it is told to read everything,
      // and hears what comes behind that.
      do {
        last = note(device, 10)
        await until(() => {
          stream.hub.beforeRelease()
          stream.world.step()
          return heard.at(-1)?.offset === last
        })
      } while (heard.at(-1)?.type === 'RESYNC')
      let offset = 0
      let mine: string | undefined
      for (const event of heard) {
        expect(event.offset).toBeGreaterThanOrEqual(event.type === 'RESYNC' ? offset : offset + 1)
        offset = event.offset
        if (event.type === 'RESYNC') mine = undefined
        else {
          mine ??= event.deviceIdentifier
          expect(event.deviceIdentifier).toBe(mine)
        }
      }
      expect(mine).toBe(device)
      expect(stream.hub.positionOf(moving)).toEqual({ epoch: 'now', offset: last })
    },
  )
})
