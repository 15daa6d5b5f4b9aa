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

const offsets = ({ heard }: StallingSocket) => heard.filter(({ type }) => type !== 'STREAM').map(({ offset }) => offset)
const lines = ({ heard }: StallingSocket) =>
  heard.map(({ type, offset, deviceIdentifier }) => [type, deviceIdentifier, offset].filter(Boolean).join(' '))

/** The hub's calls on a socket, in order. */
function callsOf(socket: StallingSocket): readonly string[] {
  const calls: string[] = []
  const { send, subscribe, unsubscribe } = socket
  socket.send = (message) => {
    calls.push(`send ${JSON.parse(String(message)).type}`)
    return send.call(socket, message)
  }
  socket.subscribe = (topic) => {
    calls.push(`subscribe ${topic}`)
    subscribe.call(socket, topic)
  }
  socket.unsubscribe = (topic) => {
    calls.push(`unsubscribe ${topic}`)
    unsubscribe.call(socket, topic)
  }
  return calls
}

function reports(...devices: string[]): void {
  for (const device of devices) stream.report(device)
}

describe('a socket that is given another access', () => {
  test('while live: gets earlier events, RESYNC, then events of the new access alone', async () => {
    const socket = stream.connect({ listener: { access: 'a', scope: onlyA } })
    const other = stream.connect({ listener: { access: 'a', scope: onlyA } })
    reports('A', 'B')
    stream.hub.move(socket, toB)
    await stream.settle()
    reports('A', 'B')
    await readAll(stream)
    expect(lines(socket)).toEqual(['OBJECT_UPDATED A 1', 'RESYNC 2', 'OBJECT_UPDATED B 4'])
    expect(lines(other)).toEqual(['OBJECT_UPDATED A 1', 'OBJECT_UPDATED A 3'])
    expect(stream.hub.positionOf(socket)).toEqual({ epoch: 'now', offset: 4 })
  })

  test('leaves its audience at once, and joins the new one after its RESYNC', async () => {
    const socket = stream.connect({ listener: { access: 'a', scope: onlyA } })
    const before = [...socket.topics]
    const calls = callsOf(socket)
    reports('A')
    stream.hub.move(socket, toB)
    await stream.settle()
    const after = [...socket.topics]
    expect(after.filter((topic) => before.includes(topic))).toEqual([])
    expect(calls).toEqual([
      ...before.map((topic) => `unsubscribe ${topic}`),
      'send RESYNC',
      ...after.map((topic) => `subscribe ${topic}`),
    ])
  })

  test('is in no class while RESYNC cannot be sent', async () => {
    const socket = stream.connect({ listener: { access: 'a', scope: onlyA }, limitBytes: 300 })
    const before = [...socket.topics]
    while (socket.bufferedBytes() <= 300) reports('A')
    const calls = callsOf(socket)
    stream.hub.move(socket, toB)
    await stream.settle()
    expect(calls).toEqual(before.map((topic) => `unsubscribe ${topic}`))
    expect(socket.topics.size).toBe(0)
    await readAll(stream)
    const after = [...socket.topics]
    expect(calls.slice(1)).toEqual(['send RESYNC', ...after.map((topic) => `subscribe ${topic}`)])
  })

  test('several times: each RESYNC separates the events of its classes', async () => {
    const socket = stream.connect({ listener: { access: 'a', scope: onlyA } })
    for (let round = 0; round < 3; round++) {
      reports('A', 'B')
      stream.hub.move(socket, toB)
      await readAll(stream)
      reports('A', 'B')
      stream.hub.move(socket, { access: 'a', scope: onlyA })
      await readAll(stream)
    }
    await readAll(stream)
    const round = (begin: number) => [
      `OBJECT_UPDATED A ${begin + 1}`,
      `RESYNC ${begin + 2}`,
      `OBJECT_UPDATED B ${begin + 4}`,
      `RESYNC ${begin + 4}`,
    ]
    expect(lines(socket)).toEqual([0, 4, 8].flatMap(round))
  })

  test('keeps its filter', async () => {
    const socket = stream.connect({ listener: { access: 'a', scope: onlyA, filter: { services: new Set(['t']) } } })
    stream.hub.move(socket, toB)
    await stream.settle()
    stream.report('B', 0, 's')
    stream.report('B', 0, 't')
    await readAll(stream)
    expect(offsets(socket)).toEqual([0, 2])
  })

  test('shares the class of that access, and leaves its old one', async () => {
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

  test('equal to its old one: reads the full state again, and stays', async () => {
    const socket = stream.connect({ listener: toB })
    stream.hub.move(socket, toB)
    await stream.settle()
    reports('A', 'B')
    await readAll(stream)
    expect(lines(socket)).toEqual(['RESYNC', 'OBJECT_UPDATED B 2'])
  })

  test('is redefined with its new access from then on, not with the old one', async () => {
    const socket = stream.connect({ listener: { access: 'a', scope: onlyA } })
    stream.hub.move(socket, toB)
    await stream.settle()
    stream.hub.redefine('default', new Map([['a', only('C')]]))
    reports('B')
    stream.hub.redefine('default', new Map([['b', onlyA]]))
    await stream.settle()
    reports('A', 'B')
    await readAll(stream)
    expect(lines(socket)).toEqual(['RESYNC', 'OBJECT_UPDATED B 1', 'RESYNC 1', 'OBJECT_UPDATED A 2'])
  })

  test('while being caught up: gets no more missed events', async () => {
    reports('A', 'A', 'A', 'A', 'B', 'A', 'B', 'A')
    const socket = stream.connect({
      listener: { access: 'a', scope: onlyA },
      resume: { after: { epoch: 'now', offset: 0 } },
      limitBytes: 600,
    })
    await stream.settle()
    const before = socket.sent.length
    stream.hub.move(socket, toB)
    await stream.settle()
    await readAll(stream)
    reports('A', 'B')
    await readAll(stream)
    expect(socket.sent.slice(before).map(({ type, offset }) => [type, offset])).toEqual([
      ['RESYNC', 8],
      ['OBJECT_UPDATED', 10],
    ])
  })

  test('while a chunk is read for it: the chunk is not sent', async () => {
    reports('A', 'B', 'A')
    stream.recentFrom = 100
    const socket = stream.connect({
      listener: { access: 'a', scope: onlyA },
      resume: { after: { epoch: 'now', offset: 0 } },
    })
    // Only the slice that requests the chunk.
    stream.world.step()
    stream.hub.move(socket, toB)
    await stream.settle()
    await readAll(stream)
    reports('B')
    await readAll(stream)
    expect(lines(socket)).toEqual(['STREAM', 'RESYNC 3', 'OBJECT_UPDATED B 4'])
  })

  test('while its buffer is full: gets RESYNC when it drains, and no more events of the old access', async () => {
    const socket = stream.connect({ listener: { access: 'a', scope: onlyA }, limitBytes: 300 })
    reports(...Array<string>(10).fill('A'))
    stream.hub.move(socket, toB)
    await stream.settle()
    expect(stream.hub.positionOf(socket)).toBeUndefined()
    reports('A', 'B')
    await readAll(stream)
    reports('A', 'B')
    await readAll(stream)
    const resync = socket.heard.findIndex(({ type }) => type === 'RESYNC')
    expect(resync).toBeGreaterThan(0)
    expect(lines(socket).slice(resync)).toEqual(['RESYNC 12', 'OBJECT_UPDATED B 14'])
    expect(stream.hub.behindCount()).toBe(0)
  })

  test('again before the first RESYNC: gets one RESYNC, and the last access', async () => {
    const socket = stream.connect({ listener: { access: 'a', scope: onlyA }, limitBytes: 300 })
    reports(...Array<string>(10).fill('A'))
    stream.hub.move(socket, toB)
    await stream.settle()
    stream.hub.move(socket, { access: 'c', scope: only('C') })
    await stream.settle()
    await readAll(stream)
    reports('A', 'B', 'C')
    await readAll(stream)
    expect(lines(socket).slice(-2)).toEqual(['RESYNC 10', 'OBJECT_UPDATED C 13'])
    expect(lines(socket).filter((line) => line.startsWith('RESYNC'))).toHaveLength(1)
  })

  test('that is unknown or closed: nothing changes', async () => {
    const socket = stream.connect({ listener: { access: 'a', scope: onlyA } })
    socket.close()
    stream.hub.move(socket, toB)
    await stream.settle()
    expect(stream.hub.socketCount()).toBe(0)
    expect(socket.sent).toEqual([])
  })

  test('whose earlier message is lost while RESYNC is sent: gets RESYNC again when it drains', async () => {
    const socket = stream.connect({ listener: { access: 'a', scope: onlyA } })
    reports('A')
    const { send } = socket
    // Like uWebSockets.js: the earlier message is lost, the later one still arrives.
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

test('several accesses redefined at once: each of their sockets gets one RESYNC, others none', async () => {
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
  expect(offsets(other)).toEqual([1, 2, 3])
})

test('very many accesses redefined at once: live and lagging sockets all use the new ones', async () => {
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
  expect(offsets(other)).toEqual([1, 2, 3, 4, 5, 6, 7, 9])
})
