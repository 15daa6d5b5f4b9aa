import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { Fleet } from '#bench/fleet/fleet'
import type { FleetOptions } from '#bench/fleet/options'
import { totalsOf } from '#bench/fleet/second'
import { firmwareOf, type UpdateManner, updateWays } from '#bench/fleet/updates'
import { until } from '#test/blackbox/until'

type Message = Readonly<Record<string, unknown>> & { readonly type: string }

const image = Buffer.alloc(100_000, 'an image of a firmware ')
const sha256 = createHash('sha256').update(image).digest('hex')

/** A server that welcomes and acknowledges, and one of images; devices are numbered by their flakeAddress. */
let server: WebSocketServer
let images: Server
let fleet: Fleet
let link: WebSocket
let heard: Message[]
let ranges: string[]
/** Answers a range otherwise than it should; false: it did not. */
let interfere: (response: ServerResponse, from: number, to: number) => boolean
/** Whoever comes is not welcomed. */
let isDeaf: boolean

beforeEach(async () => {
  heard = []
  ranges = []
  isDeaf = false
  interfere = () => false
  images = createServer(({ headers }, response) => {
    const { range = '' } = headers
    ranges.push(range)
    const [from = 0, last = 0] = range.replace('bytes=', '').split('-').map(Number)
    if (interfere(response, from, last + 1)) return
    response.writeHead(206, { 'content-range': `bytes ${from}-${last}/${image.length}` })
    response.end(image.subarray(from, last + 1))
  }).listen(0, '127.0.0.1')
  server = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols: (asked) => [...asked][0] ?? false })
  await Promise.all([once(server, 'listening'), once(images, 'listening')])
  const stored = new Map<string, number>()
  const addresses = new Map<unknown, number>()
  const sessions = new Map<number, string>()
  server.on('connection', (opened) => {
    link = opened
    opened.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as Message
      heard.push(message)
      const { type, deviceIdentifier, session, seq } = message
      const flakeAddress = (message.flakeAddress ?? addresses.get(deviceIdentifier) ?? addresses.size + 1) as number
      if (type === 'HELLO' && isDeaf) return
      if (type === 'HELLO') {
        addresses.set(deviceIdentifier, flakeAddress)
        sessions.set(flakeAddress, session as string)
        say({ type: 'WELCOME', flakeAddress, deviceIdentifier, seq: stored.get(session as string) ?? 0, window: 8 })
      } else if (type === 'UPDATE') {
        stored.set(sessions.get(flakeAddress) as string, seq as number)
        say({ type: 'ACK', flakeAddress, seq })
      }
    })
  })
})

afterEach(async () => {
  await fleet?.stop(false)
  server.close()
  images.close()
})

function say(message: object): void {
  link.send(JSON.stringify(message))
}

async function started(updates: UpdateManner, options: Partial<FleetOptions> = {}): Promise<void> {
  const { port } = server.address() as AddressInfo
  fleet = new Fleet({
    url: `ws://127.0.0.1:${port}`,
    devices: 1,
    links: 1,
    rate: 50,
    updates,
    backoffMsMin: 1,
    ...options,
  })
  fleet.start()
  expect(await fleet.allOnline(10_000)).toBe(true)
}

function offer(id: string, given: object = {}): void {
  const url = `http://127.0.0.1:${(images.address() as AddressInfo).port}/image`
  say({ type: 'FIRMWARE', flakeAddress: 1, id, firmware: '1.5.0', index: 0, url, sha256, size: image.length, ...given })
}

const all = (type: string) => heard.filter((message) => message.type === type)
const statuses = () => all('FIRMWARE_STATUS').map(({ status }) => status)
const some = (type: string, count: number) =>
  until(
    () => (all(type).length >= count ? all(type) : undefined),
    () => `${count} ${type}: ${JSON.stringify(heard)}`,
  )
const said = (status: string, count = 1) =>
  until(
    () => statuses().filter((each) => each === status).length >= count,
    () => `${count} ${status}: ${statuses()}`,
  )
const firmwareIn = (hello: Message | undefined) =>
  (hello?.firmwares as { firmware: string }[] | undefined)?.[0]?.firmware

const quarter = image.length / 4
const quarters = [0, 1, 2, 3].map((place) => `bytes=${place * quarter}-${(place + 1) * quarter - 1}`)
const wholeWay = ['STARTED', 'DOWNLOADING', 'DOWNLOADING', 'DOWNLOADING', 'DOWNLOADING']

describe('a device that is offered a firmware', () => {
  test.each([
    ['behind a gateway', { devices: 2, links: 1 }],
    ['with a link of its own', { devices: 1, links: 1 }],
  ])('installs it and comes back with it, in another session: %s', async (_, options) => {
    await started('well', options)
    offer('a')
    const hellos = await some('HELLO', options.devices + 1)
    const [before, after] = [hellos[0], hellos.at(-1)]
    expect(statuses()).toEqual([...wholeWay, 'INSTALLING', 'INSTALLING', 'INSTALLING', 'INSTALLING', 'INSTALLED'])
    expect(ranges).toEqual(quarters)
    expect(all('FIRMWARE_STATUS').find(({ status }) => status === 'DOWNLOADING')).toMatchObject({
      id: 'a',
      progress: 25,
    })
    expect([firmwareIn(before), firmwareIn(after)]).toEqual(['1.4.2', '1.5.0'])
    expect(after?.deviceIdentifier).toBe(before?.deviceIdentifier)
    expect(after?.session).not.toBe(before?.session)
    // Its frames are numbered anew, and acknowledged.
    const behind = heard.indexOf(after as Message)
    await until(() => heard.slice(behind).some(({ type, seq }) => type === 'UPDATE' && seq === 1), 'its first frame')
    fleet.pause()
    expect(await fleet.settled(5_000)).toBe(true)
    offer('a')
    await said('INSTALLED', 2)
    expect(ranges).toHaveLength(4)
    const report = fleet.report()
    const bytes = image.length
    expect(report).toMatchObject({ updates: { heard: 2, again: 1, installed: 1, updated: 1, bytes }, faults: [] })
    expect(totalsOf(report, 1)).toContain(
      '2 heard, 1 of them again; 1 installed once each (1 came back with it, 0 with the old)',
    )
  })

  test('comes back with the old one', async () => {
    await started('wrong')
    offer('a')
    const [before, after] = await some('HELLO', 2)
    expect([firmwareIn(before), firmwareIn(after)]).toEqual(['1.4.2', '1.4.2'])
    expect(after?.session).not.toBe(before?.session)
    expect(fleet.report().updates).toMatchObject({ installed: 1, updated: 0, wrong: 1 })
  })

  test('refuses it, again and again', async () => {
    await started('refuse')
    offer('a')
    offer('a')
    await said('NOT_OK', 2)
    expect(ranges).toEqual([])
    expect(fleet.report().updates).toMatchObject({ heard: 2, again: 1, refused: 1, installed: 0 })
  })

  test('cannot install it', async () => {
    await started('fail')
    offer('a')
    await said('FAILED')
    expect(statuses()).toEqual([...wholeWay, 'INSTALLING', 'FAILED'])
    expect(fleet.report().updates).toMatchObject({ failed: 1, installed: 0 })
    // Another id is another try.
    offer('b')
    await said('FAILED', 2)
    expect(fleet.report().updates).toMatchObject({ failed: 2 })
  })

  test('rests between the parts when it is slow', async () => {
    await started('slow')
    offer('a')
    await said('DOWNLOADING', 2)
    expect(ranges[0]).toBe('bytes=0-16383')
    offer('a')
    await until(() => fleet.counts.updates.again === 1, 'the same to be heard')
    expect(statuses().filter((status) => status === 'STARTED')).toHaveLength(1)
  })

  test('loses its power on the way, and goes on where it was when it is offered the same again', async () => {
    await started('vanish')
    offer('a')
    const [before, after] = await some('HELLO', 2)
    expect(after?.session).not.toBe(before?.session)
    expect(firmwareIn(after)).toBe('1.4.2')
    expect(ranges).toEqual(quarters.slice(0, 2))
    offer('a')
    await some('HELLO', 3)
    expect(ranges).toEqual(quarters)
    const counts = { heard: 2, again: 1, vanished: 1, resumed: 1, installed: 1, updated: 1, bytes: image.length }
    expect(fleet.report()).toMatchObject({ updates: counts, faults: [] })
  })

  test('says again how far it is when its link was cut', async () => {
    await started('slow')
    offer('a')
    await said('STARTED')
    const before = all('HELLO').length
    fleet.cutAll()
    await some('HELLO', before + 1)
    const behind = heard.findLastIndex(({ type }) => type === 'HELLO')
    await until(() => heard.slice(behind).some(({ type }) => type === 'FIRMWARE_STATUS'), 'a status')
    expect(heard.slice(behind).find(({ type }) => type === 'FIRMWARE_STATUS')).toMatchObject({
      flakeAddress: 1,
      id: 'a',
    })
  })

  test.each([
    ['fail', 'failed', 'FAILED'],
    ['wrong', 'installed', 'INSTALLED'],
  ] as const)(
    'says it when it is back, where it ended while there was no server: %s',
    async (manner, count, status) => {
      await started(manner)
      isDeaf = true
      offer('a')
      await said('INSTALLING')
      link.terminate()
      await until(() => fleet.report().updates[count] === 1, 'its end')
      expect(statuses()).not.toContain(status)
      isDeaf = false
      link.terminate()
      await said(status)
      expect(all('FIRMWARE_STATUS').at(-1)).toMatchObject({ flakeAddress: 1, id: 'a', status })
    },
  )

  test('says its end again behind each cut, for that may not have been heard', async () => {
    await started('fail')
    offer('a')
    await said('FAILED')
    fleet.cutAll()
    await said('FAILED', 2)
    expect(statuses().slice(-2)).toEqual(['FAILED', 'FAILED'])
  })

  test('takes up a range that broke off, and comes again later when it is told so', async () => {
    const faults: ((response: ServerResponse, from: number, to: number) => void)[] = [
      (response, from, to) => {
        response.writeHead(206, {
          'content-range': `bytes ${from}-${to - 1}/${image.length}`,
          'content-length': to - from,
        })
        response.write(image.subarray(from, from + 1_000), () => response.destroy())
      },
      (response) => response.writeHead(503, { 'retry-after': '0' }).end(),
    ]
    interfere = (response, from, to) => {
      const fault = faults.shift()
      fault?.(response, from, to)
      return fault !== undefined
    }
    await started('well')
    offer('a')
    await said('INSTALLED')
    expect(ranges).toEqual([quarters[0], 'bytes=1000-24999', 'bytes=1000-24999', ...quarters.slice(1)])
    expect(fleet.report()).toMatchObject({ updates: { installed: 1, bytes: image.length }, faults: [] })
  })

  test('takes the whole where ranges are not known', async () => {
    interfere = (response) => {
      response.writeHead(200, { 'content-length': image.length }).end(image)
      return true
    }
    await started('well')
    offer('a')
    await said('INSTALLED')
    expect(ranges).toEqual([quarters[0]])
    expect(fleet.counts.faults).toEqual([])
  })

  test('fails where there is no image', async () => {
    interfere = (response) => {
      response.writeHead(404).end()
      return true
    }
    await started('well')
    offer('a')
    await said('FAILED')
    expect(fleet.report()).toMatchObject({ updates: { notHad: 1, installed: 0 }, faults: [] })
  })
})

test('is one of six, and each kind of device has every way', () => {
  const ways = (indexes: readonly number[]) => indexes.map((index) => firmwareOf('mixed', index).way)
  expect(ways([0, 1, 2, 3, 4, 5])).toEqual(updateWays)
  for (const kind of [0, 1, 2]) {
    expect(new Set(ways(Array.from({ length: 12 }, (_, place) => kind + 3 * place)))).toEqual(new Set(updateWays))
  }
})

describe('is a fault of the server', () => {
  test.each<readonly [string, () => void, string]>([
    ['an id that was heard, which means another image', () => offer('a', { firmware: '1.6.0' }), 'another image'],
    ['an offer without an image', () => offer('b', { sha256: 'none' }), 'offers nothing'],
    ['an offer of something that there is not', () => offer('b', { index: 1 }), 'offers nothing'],
    ['an id that is too long', () => offer('b'.repeat(37)), 'offers nothing'],
    ['an offer to nobody', () => offer('b', { flakeAddress: 9 }), 'to nobody'],
    ['an image that is another one', () => offer('b', { sha256: sha256.replace(/./g, '0') }), 'not what was announced'],
    ['an image of another size', () => offer('b', { size: image.length - 1 }), 'instead of bytes'],
  ])('%s', async (_, faulty, words) => {
    await started('well')
    offer('a')
    await said('INSTALLED')
    await some('HELLO', 2)
    await until(() => fleet.devices[0]?.isWelcome, 'it to be welcome')
    faulty()
    await until(() => fleet.counts.faultCount > 0, 'a fault')
    expect(fleet.counts.faults).toHaveLength(1)
    expect(fleet.counts.faults[0]).toContain(words)
    expect(fleet.counts.updates.installed).toBe(1)
  })
})
