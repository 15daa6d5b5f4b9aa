import { beforeEach, describe, expect, test } from 'vitest'
import { scopeOf } from '#model/scope'
import type { StallingSocket } from '#test/events/stalling-sockets'
import { readAll, TestStream } from '#test/events/test-stream'

let stream: TestStream

beforeEach(() => {
  stream = new TestStream(400)
})

const only = (device: string) => scopeOf([{ permissions: { service: ['read'] }, devices: [device], services: ['*'] }])
const onlyA = only('A')
const onlyB = only('B')
const toB = { access: 'b', scope: onlyB }

const lines = ({ received }: StallingSocket) =>
  received.map(({ type, offset, deviceIdentifier }) => [type, deviceIdentifier, offset].filter(Boolean).join(' '))

function reports(...devices: string[]): void {
  for (const device of devices) stream.report(device)
}

describe('a socket that gets another access', () => {
  test('joins the audience of the new access, and leaves the old one', async () => {
    const first = stream.connect({ listener: { access: 'a', scope: onlyA } })
    const second = stream.connect({ listener: toB })
    stream.hub.move(first, toB)
    await stream.settle()
    expect([...first.topics][0]).toBe([...second.topics][0])
    const before = { ...stream.hub.counts }
    reports('B')
    expect(stream.hub.counts.publishes - before.publishes).toBe(1)
    expect(stream.hub.counts.deliveries - before.deliveries).toBe(2)
  })

  test('receives RESYNC and stays in its audience if the new access equals the old one', async () => {
    const socket = stream.connect({ listener: toB })
    stream.hub.move(socket, toB)
    await stream.settle()
    reports('A', 'B')
    await readAll(stream)
    expect(lines(socket)).toEqual(['RESYNC', 'OBJECT_UPDATED B 2'])
  })

  test('does not change if it is closed', async () => {
    const socket = stream.connect({ listener: { access: 'a', scope: onlyA } })
    socket.close()
    stream.hub.move(socket, toB)
    await stream.settle()
    expect(stream.hub.socketCount()).toBe(0)
    expect(socket.sent).toEqual([])
  })

  test('receives RESYNC again when it drains, if an earlier message was lost while RESYNC was sent', async () => {
    const socket = stream.connect({ listener: { access: 'a', scope: onlyA } })
    reports('A')
    const { send } = socket
    // As in uWebSockets.js, the earlier message is lost, and the later one still arrives.
    socket.send = (message) => {
      stream.hub.dropped(socket)
      return send.call(socket, message)
    }
    stream.hub.move(socket, toB)
    await stream.settle()
    socket.send = send
    expect(stream.hub.positionOf(socket)).toBeUndefined()
    reports('B')
    await readAll(stream)
    reports('B')
    await readAll(stream)
    expect(lines(socket).slice(-3)).toEqual(['RESYNC 1', 'OBJECT_UPDATED B 2', 'OBJECT_UPDATED B 3'])
  })
})

test('if several accesses are redefined at once, each of their sockets receives one RESYNC, and others none', async () => {
  const socket = (access: string) => stream.connect({ listener: { access } })
  const mine = [socket('one'), socket('one'), socket('two')]
  const other = socket('three')
  reports('A')
  stream.hub.redefine(
    'default',
    new Map([
      ['one', onlyA],
      ['two', onlyB],
      ['nobody', onlyB],
    ]),
  )
  await stream.settle()
  reports('A', 'B')
  await readAll(stream)
  expect(mine.map(lines)).toEqual(
    [2, 2, 3].map((offset) => [
      'OBJECT_UPDATED A 1',
      'RESYNC 1',
      `OBJECT_UPDATED ${offset === 2 ? 'A' : 'B'} ${offset}`,
    ]),
  )
  expect(other.offsets).toEqual([1, 2, 3])
})

test('if very many accesses are redefined at once, all sockets use the new ones, live and behind', async () => {
  stream = new TestStream(1_000)
  const accesses = Array.from({ length: 300 }, (_, index) => `access ${index}`)
  const connect = (access: string, limitBytes?: number) =>
    stream.connect({ listener: { access, scope: onlyA }, ...(limitBytes !== undefined && { limitBytes }) })
  const live = accesses.map((access) => connect(access))
  const full = accesses.map((access) => connect(access, 300))
  const other = connect('nobody')
  reports(...Array<string>(6).fill('A'))
  stream.hub.beforeRelease()
  expect(stream.hub.behindCount()).toBe(full.length)
  const { publishes } = stream.hub.counts
  stream.hub.redefine('default', new Map(accesses.map((access) => [access, onlyB])))
  reports('A', 'B')
  expect(stream.hub.counts.publishes - publishes).toBe(1)
  expect([...live, ...full].map((socket) => stream.hub.positionOf(socket)).filter(Boolean)).toEqual([])
  await readAll(stream)
  reports('A', 'B')
  await readAll(stream)
  for (const socket of live) expect(lines(socket).slice(6)).toEqual(['RESYNC 8', 'OBJECT_UPDATED B 10'])
  expect(stream.hub.counts.resyncs).toBe(live.length + full.length)
  for (const socket of full) {
    const resync = lines(socket).findIndex((line) => line.startsWith('RESYNC'))
    expect(lines(socket).slice(resync)).toEqual(['RESYNC 8', 'OBJECT_UPDATED B 10'])
  }
  expect(other.offsets).toEqual([1, 2, 3, 4, 5, 6, 7, 9])
})
