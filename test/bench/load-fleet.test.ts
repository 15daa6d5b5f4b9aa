import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Packr, Unpackr } from 'msgpackr'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { LoadFleet } from '#bench/load/fleet'
import { firstPropId, numberOf } from '#bench/load/update-template'

const packr = new Packr({ useRecords: false })
const unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' })

/** What a server hears of a load, and what it says to it; nothing is acknowledged unless a test says so. */
let server: WebSocketServer
let fleet: LoadFleet
let links: WebSocket[]
/** The numbers that frames carried, as they came. */
let numbers: number[]
let hellos: { readonly services: readonly { readonly properties: readonly unknown[] }[] }[]
let heardFrame: (link: WebSocket, flakeAddress: number, seq: number) => void

beforeEach(async () => {
  links = []
  numbers = []
  hellos = []
  heardFrame = () => {}
  server = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols: (asked) => [...asked][0] ?? false })
  await once(server, 'listening')
  let addresses = 0
  server.on('connection', (link) => {
    links.push(link)
    link.on('message', (data: Buffer) => {
      const frame = unpackr.unpack(data)
      if (Array.isArray(frame)) {
        const [, flakeAddress, seq, , items] = frame
        numbers.push(numberOf(items.at(-1)))
        heardFrame(link, flakeAddress, seq)
      } else if (frame.type === 'HELLO') {
        hellos.push(frame)
        const { deviceIdentifier } = frame
        say(link, { type: 'WELCOME', flakeAddress: ++addresses, deviceIdentifier, seq: 0 })
      }
    })
  })
})

afterEach(() => {
  fleet.close()
  for (const link of links) link.terminate()
  server.close()
})

function say(link: WebSocket, message: unknown): void {
  link.send(packr.pack(message))
}

const acknowledge = (link: WebSocket, flakeAddress: number, seq: number) => say(link, ['A', flakeAddress, seq])

async function opened(devices = 4, linkCount = 2, more: { isAnswering?: boolean } = {}): Promise<void> {
  const { port } = server.address() as AddressInfo
  const options = { port, devices, links: linkCount, window: 8, changes: 1, properties: 1, prefix: 'T' }
  fleet = new LoadFleet({ ...options, ...more })
  await fleet.open()
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe('a pace', () => {
  test('sends all that was due until its end, and nothing that was not, to a server that stalled meanwhile', async () => {
    await opened(2, 1)
    // More than a link may have unacknowledged becomes due while nothing is acknowledged.
    const waiting: [WebSocket, number, number][] = []
    heardFrame = (...frame) => waiting.push(frame)
    const startedAt = performance.now()
    fleet.beginPace(10_000)
    await pause(300)
    fleet.pause()
    const endedAt = performance.now()
    await pause(50)
    expect(numbers).toHaveLength(1_000)
    heardFrame = acknowledge
    for (const frame of waiting) acknowledge(...frame)
    await fleet.settled(5_000)
    fleet.check()
    expect(numbers).toEqual(Array.from(numbers, (_, index) => index))
    expect(fleet.acknowledged).toBe(numbers.length)
    expect(fleet.latency.count).toBe(numbers.length)
    const due = (number: number) => fleet.dueAt(number) ?? Number.NaN
    expect(due(0)).toBeGreaterThanOrEqual(startedAt)
    expect(due(numbers.length - 1)).toBeLessThanOrEqual(endedAt)
    // The next one was not due before, but for what lies between the two clocks of this test and the pace.
    expect(due(numbers.length)).toBeGreaterThan(endedAt - 2)
    expect(numbers.length).toBeGreaterThan(2_900)
  })

  test('counts from when its own frames were due, when another was kept before', async () => {
    await opened(2, 1)
    heardFrame = acknowledge
    for (const _ of ['first', 'second']) {
      fleet.latency.clear()
      const before = fleet.acknowledged
      fleet.beginPace(1_000)
      await pause(100)
      fleet.pause()
      await fleet.settled(5_000)
      expect(fleet.latency.count).toBe(fleet.acknowledged - before)
      // Each was acknowledged behind its own moment, and none behind that of one which is not due yet.
      expect(fleet.latency.summary().p50).toBeGreaterThan(0)
    }
    fleet.check()
  })

  test('is the same over several links', async () => {
    await opened(6, 3)
    heardFrame = acknowledge
    fleet.beginPace(3_000)
    await pause(100)
    fleet.pause()
    await fleet.settled(5_000)
    fleet.check()
    expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from(numbers, (_, index) => index))
    expect(numbers.length).toBeGreaterThan(290)
  })
})

describe('a device that is asked to change', () => {
  const write = {
    type: 'WRITE',
    flakeAddress: 1,
    id: 'w:1',
    serviceIdentifier: 's',
    updates: [{ propId: 9, value: 1 }],
  }

  test('says that it did, where it lets itself be changed', async () => {
    await opened(1, 1, { isAnswering: true })
    expect(hellos[0]?.services[0]?.properties.at(-1)).toEqual({ propId: firstPropId + 1, type: 'UINT32' })
    const [link] = links as [WebSocket]
    const heard = once(link, 'message')
    say(link, write)
    const [data] = await heard
    const results = [{ propId: 9, status: 'OK' }]
    expect(unpackr.unpack(data)).toEqual({ type: 'RESULT', flakeAddress: 1, id: 'w:1', results })
    fleet.check()
  })

  test('fails the measurement, where it does not', async () => {
    await opened(1, 1)
    fleet.sendTogether(1)
    say(links[0] as WebSocket, write)
    await expect(fleet.settled(2_000)).rejects.toThrow('a link heard {"type":"WRITE"')
  })
})

describe('fails the measurement', () => {
  test.each([
    [
      'a frame that was never sent',
      (link: WebSocket) => acknowledge(link, 1, 3),
      'frame 3 of 1 was acknowledged, which was never sent',
    ],
    ['no frame', (link: WebSocket) => acknowledge(link, 1, 0), 'frame 0 of 1 was acknowledged again, after 0'],
    [
      'a frame twice',
      (link: WebSocket) => {
        acknowledge(link, 1, 2)
        acknowledge(link, 1, 2)
      },
      'frame 2 of 1 was acknowledged again, after 2',
    ],
    [
      'a frame before the last one',
      (link: WebSocket) => {
        acknowledge(link, 1, 2)
        acknowledge(link, 1, 1)
      },
      'frame 1 of 1 was acknowledged again, after 2',
    ],
    [
      'a frame of somebody else',
      (link: WebSocket) => acknowledge(link, 77, 1),
      "a frame of 77 was acknowledged, which is none of this link's devices",
    ],
  ])('an acknowledgement of %s', async (_, answer, message) => {
    await opened(1, 1)
    fleet.sendTogether(2)
    const [link] = links
    if (!link) throw new Error('no link')
    answer(link)
    await expect(fleet.settled(2_000)).rejects.toThrow(message)
  })

  test('a link that the server closes', async () => {
    await opened()
    fleet.sendTogether(1)
    links[0]?.terminate()
    await expect(fleet.settled(2_000)).rejects.toThrow('a link was closed')
  })

  test('a refusal instead of a WELCOME', async () => {
    server.removeAllListeners('connection')
    server.on('connection', (link) => link.on('message', () => say(link, { type: 'ERROR', code: 'FORBIDDEN' })))
    await expect(opened()).rejects.toThrow('a link heard {"type":"ERROR","code":"FORBIDDEN"}')
  })

  test('a WELCOME that nobody asked for', async () => {
    await opened(1, 1)
    fleet.sendTogether(1)
    say(links[0] as WebSocket, { type: 'WELCOME', flakeAddress: 9, deviceIdentifier: 'T-0000000' })
    await expect(fleet.settled(2_000)).rejects.toThrow('T-0000000 was welcomed, which said no HELLO')
  })
})
