import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { Fleet } from '#bench/fleet/fleet'
import { controlsService } from '#bench/fleet/kinds'
import type { FleetOptions } from '#bench/fleet/options'
import { totalsOf } from '#bench/fleet/second'
import type { WriteManner } from '#bench/fleet/writes'
import { until } from '#test/blackbox/until'

type Message = Readonly<Record<string, unknown>> & { readonly type: string }

const setpoint = 0x2000
const reset = 0x2001

/** A server that welcomes, and acknowledges as long as it is told to; devices are numbered by their flakeAddress. */
let server: WebSocketServer
let fleet: Fleet
let link: WebSocket
let heard: Message[]
let isAcknowledging: boolean

beforeEach(async () => {
  heard = []
  isAcknowledging = true
  server = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols: (asked) => [...asked][0] ?? false })
  await once(server, 'listening')
  const stored = new Map<number, number>()
  const addresses = new Map<unknown, number>()
  server.on('connection', (opened) => {
    link = opened
    opened.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as Message
      heard.push(message)
      const { type, deviceIdentifier, seq } = message
      const flakeAddress = (message.flakeAddress ?? addresses.get(deviceIdentifier) ?? addresses.size + 1) as number
      if (type === 'HELLO') {
        addresses.set(deviceIdentifier, flakeAddress)
        say({ type: 'WELCOME', flakeAddress, deviceIdentifier, seq: stored.get(flakeAddress) ?? 0, window: 1 })
      } else if (type === 'UPDATE' && isAcknowledging) {
        stored.set(flakeAddress, seq as number)
        say({ type: 'ACK', flakeAddress, seq })
      }
    })
  })
})

afterEach(async () => {
  await fleet.stop(false)
  server.close()
})

function say(message: object): void {
  link.send(JSON.stringify(message))
}

/** Says nothing by itself. */
async function started(writes: WriteManner, options: Partial<FleetOptions> = {}): Promise<void> {
  const { port } = server.address() as AddressInfo
  fleet = new Fleet({ url: `ws://127.0.0.1:${port}`, devices: 1, links: 1, writes, backoffMsMin: 1, ...options })
  fleet.pause()
  fleet.start()
  expect(await fleet.allOnline(10_000)).toBe(true)
}

interface Asked {
  readonly flakeAddress?: number
  readonly service?: string
  readonly value?: unknown
  readonly propId?: number
}

function write(id: string, { flakeAddress = 1, service, propId = setpoint, value = 21.5 }: Asked = {}): void {
  const { serviceIdentifier } = controlsService
  const updates = [{ propId, value }]
  say({ type: 'WRITE', flakeAddress, id, serviceIdentifier: service ?? serviceIdentifier, updates })
}

const all = (type: string) => heard.filter((message) => message.type === type)
const some = (type: string, count: number) =>
  until(
    () => (all(type).length >= count ? all(type) : undefined),
    () => `${count} ${type}: ${JSON.stringify(heard)}`,
  )
const writesHeard = (count: number) => until(() => fleet.counts.writes.heard === count, 'the WRITE to be heard')

describe('a device that is asked to change', () => {
  test('does so, reports it and answers; asked again with the same id, it only answers', async () => {
    await started('answer')
    write('a', { propId: reset, value: true })
    const [result] = await some('RESULT', 1)
    expect(result).toEqual({ type: 'RESULT', flakeAddress: 1, id: 'a', results: [{ propId: reset, status: 'OK' }] })
    write('a', { propId: reset, value: true })
    const [, again] = await some('RESULT', 2)
    expect(again).toEqual(result)
    // Another id is another trigger, with the same value.
    write('b', { propId: reset, value: true })
    await some('RESULT', 3)
    const [first, second, ...others] = await some('UPDATE', 2)
    expect(first).toMatchObject({ seq: 1, ...controlsHeard, updates: [{ propId: reset, value: true }] })
    expect(second).toMatchObject({ seq: 2, ...controlsHeard, updates: [{ propId: reset, value: true }] })
    expect(others).toEqual([])
    expect(fleet.report()).toMatchObject({ writes: { heard: 3, again: 1, done: 2, triggers: 2 }, faultCount: 0 })
    expect(totalsOf(fleet.report(), 1)).toContain(
      '3 heard, 1 of them again; 2 done once each (2 triggers), 0 rejected, 0 left without an answer',
    )
  })

  test('does it once when it is slow and was asked twice meanwhile', async () => {
    await started('slow')
    write('a')
    write('a')
    await writesHeard(2)
    expect(all('RESULT')).toEqual([])
    await some('RESULT', 1)
    expect(await fleet.settled(5_000)).toBe(true)
    expect(all('RESULT')).toHaveLength(1)
    expect(all('UPDATE')).toHaveLength(1)
    expect(fleet.counts.writes).toMatchObject({ again: 1, done: 1 })
  })

  test('rejects it, again and again', async () => {
    await started('reject')
    write('a')
    write('a')
    const results = [{ propId: setpoint, status: 'REJECTED', message: 'not now' }]
    expect(await some('RESULT', 2)).toMatchObject([{ results }, { results }])
    expect(all('UPDATE')).toEqual([])
    expect(fleet.counts.writes).toMatchObject({ done: 0, rejected: 1 })
  })

  test('never answers, and does nothing', async () => {
    await started('never')
    write('a')
    write('b')
    await writesHeard(2)
    expect(fleet.counts.writes).toMatchObject({ left: 2, done: 0 })
    expect([...all('RESULT'), ...all('UPDATE')]).toEqual([])
  })

  test('is one of four, each in its way', async () => {
    await started('mixed', { devices: 4 })
    for (const flakeAddress of [1, 2, 3, 4]) write('a', { flakeAddress })
    await some('RESULT', 3)
    expect(fleet.counts.writes).toEqual({ heard: 4, again: 0, done: 2, rejected: 1, left: 1, triggers: 0 })
  })

  test('waits with its report for room in the window', async () => {
    await started('answer')
    isAcknowledging = false
    for (const id of ['a', 'b', 'c']) write(id)
    await some('RESULT', 3)
    expect(all('UPDATE')).toHaveLength(1)
    isAcknowledging = true
    say({ type: 'ACK', flakeAddress: 1, seq: 1 })
    expect((await some('UPDATE', 3)).map(({ seq }) => seq)).toEqual([1, 2, 3])
    expect(await fleet.settled(5_000)).toBe(true)
  })

  test('says in HELLO what it is by then, and answers for what it did before a cut', async () => {
    await started('answer')
    isAcknowledging = false
    write('a')
    await some('RESULT', 1)
    isAcknowledging = true
    fleet.cutAll()
    const [, hello] = await some('HELLO', 2)
    const { services } = hello as unknown as { services: { serviceIdentifier: string; properties: object[] }[] }
    const controls = services.find(({ serviceIdentifier }) => serviceIdentifier === controlsService.serviceIdentifier)
    expect(controls?.properties[0]).toMatchObject({ propId: setpoint, modifier: {}, value: 21.5 })
    expect(controls?.properties[1]).toMatchObject({ propId: reset, modifier: { isActionable: true }, value: false })
    // The frame that was not acknowledged comes again, under its number.
    expect((await some('UPDATE', 2)).map(({ seq }) => seq)).toEqual([1, 1])
    write('a')
    expect(await some('RESULT', 2)).toMatchObject([{}, { id: 'a', results: [{ status: 'OK' }] }])
    expect(fleet.counts.writes).toMatchObject({ done: 1, again: 1 })
    expect(fleet.counts.faults).toEqual([])
  })
})

const controlsHeard = { serviceIdentifier: controlsService.serviceIdentifier }

describe('is a fault of the server', () => {
  test.each<readonly [string, WriteManner, () => void]>([
    ['an id that was heard, which asks for something else by now', 'answer', () => write('a', { value: 22 })],
    ['a property that there is not', 'answer', () => write('b', { propId: 0x2fff })],
    ['a value that is none of its type', 'answer', () => write('b', { value: 'warm' })],
    ['a service that takes no writes', 'answer', () => write('b', { service: 'climate' })],
    ['a device that takes none', 'none', () => write('b')],
    ['nobody', 'answer', () => write('b', { flakeAddress: 9 })],
    ['nothing', 'answer', () => say({ type: 'WRITE', flakeAddress: 1, id: 'b', updates: [] })],
  ])('a WRITE to %s', async (_, writes, faulty) => {
    await started(writes)
    if (writes === 'answer') write('a')
    faulty()
    await until(() => fleet.counts.faultCount > 0, 'a fault')
    expect(fleet.counts.faults).toHaveLength(1)
    expect(fleet.counts.faults[0]).toContain('WRITE')
    expect(all('UPDATE').length).toBeLessThanOrEqual(1)
  })
})
