import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { readFleetCommand } from '#bench/fleet/command'
import { Fleet } from '#bench/fleet/fleet'
import { until } from '#test/blackbox/until'

/** Welcomes whoever says HELLO, and counts how often each did. */
let server: WebSocketServer
let hellos: Map<string, number>
let fleet: Fleet

beforeEach(async () => {
  hellos = new Map()
  server = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols: (asked) => [...asked][0] ?? false })
  await once(server, 'listening')
  server.on('connection', (link) => link.on('message', (data: Buffer) => welcome(link, JSON.parse(data.toString()))))
})

afterEach(async () => {
  await fleet.stop(false)
  server.close()
})

function welcome(link: WebSocket, { type, deviceIdentifier }: { type: string; deviceIdentifier: string }): void {
  if (type !== 'HELLO') return
  const before = hellos.get(deviceIdentifier) ?? 0
  hellos.set(deviceIdentifier, before + 1)
  const flakeAddress = [...hellos.keys()].indexOf(deviceIdentifier) + 1
  link.send(JSON.stringify({ type: 'WELCOME', flakeAddress, deviceIdentifier, seq: 0, window: 1 }))
}

async function stormy(...line: string[]): Promise<void> {
  const { port } = server.address() as AddressInfo
  const { fleet: options } = readFleetCommand([`--url=ws://127.0.0.1:${port}`, ...line])
  fleet = new Fleet({ ...options, backoffMsMin: 1, backoffMsMax: 5 })
  fleet.pause()
  fleet.start()
  expect(await fleet.allOnline(10_000)).toBe(true)
}

test('in a storm every link is cut, again and again, and every device comes back', async () => {
  await stormy('--devices=6', '--links=3', '--storm=0.1')
  const least = () => Math.min(...hellos.values())
  await until(
    () => least() >= 3,
    () => `the devices said HELLO ${[...hellos.values()].join()} times`,
  )
  expect(hellos.size).toBe(6)
  expect(fleet.counts.cuts).toBeGreaterThanOrEqual(6)
  expect(fleet.counts.faults).toEqual([])
})

test('without one no link is cut', async () => {
  await stormy('--devices=6', '--links=3')
  expect(fleet.options.storm).toBe(0)
  expect([...hellos.values()]).toEqual([1, 1, 1, 1, 1, 1])
  expect(fleet.counts.cuts).toBe(0)
})
