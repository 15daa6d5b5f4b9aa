import { beforeEach, describe, expect, test } from 'vitest'
import type { Entry } from '#model/entry'
import type { StallingSocket } from '#test/events/stalling-sockets'
import { readAll, TestStream } from '#test/events/test-stream'

let stream: TestStream

beforeEach(() => {
  stream = new TestStream(100)
})

const types = ({ received }: StallingSocket) => received.map(({ type }) => type)
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

function reports(count: number, device = 'A'): void {
  for (let index = 0; index < count; index++) stream.report(device, index % 3)
}

describe('a socket that keeps up', () => {
  test('shares its audience with others, so that one publish reaches all of them', () => {
    for (let index = 0; index < 5; index++) stream.connect()
    stream.connect({ listener: { access: 'other' } })
    const before = { ...stream.hub.counts }
    stream.report()
    expect(stream.hub.counts.publishes - before.publishes).toBe(2)
    expect(stream.hub.counts.deliveries - before.deliveries).toBe(6)
  })

  test('receives nothing after it is closed', async () => {
    const socket = stream.connect()
    reports(1)
    socket.close()
    reports(1)
    await readAll(stream)
    expect(socket.sent).toHaveLength(1)
    expect(stream.hub.socketCount()).toBe(0)
  })

  test('receives nothing of another tenant', async () => {
    const socket = stream.connect({ listener: { tenant: 'other' } })
    reports(2)
    await readAll(stream)
    expect(socket.received).toEqual([])
  })
})

describe('a resume', () => {
  test.each([
    ['an unknown epoch', { epoch: 'guessed', offset: 5 }],
    ['a future offset', { epoch: 'now', offset: 11 }],
    ['an offset beyond the end of its epoch', { epoch: 'before', offset: 5 }],
    ['an offset that is no longer retained', { epoch: 'now', offset: 2 }],
  ])('after %s is refused, and the socket is live', async (_, after) => {
    stream.ended.set('before', 4)
    reports(10)
    stream.retained = 5
    const socket = stream.connect({ resume: { after } })
    reports(1)
    await readAll(stream)
    expect(socket.received[0]).toEqual({ type: 'STREAM', epoch: 'now', offset: 10, recovered: false })
    expect(socket.offsets).toEqual([11])
  })

  test('is possible after the last offset before the retained ones, and after the last offset of an earlier epoch', async () => {
    stream.ended.set('before', 4)
    reports(10)
    stream.retained = 5
    for (const epoch of ['now', 'before']) {
      const socket = stream.connect({ resume: { after: { epoch, offset: 4 } } })
      await readAll(stream)
      expect(socket.received[0]).toMatchObject({ recovered: true })
      expect(socket.offsets).toEqual(range(5, 10))
    }
  })

  test('yields to other work after slices of about two milliseconds', async () => {
    reports(40)
    const sockets = [1, 2, 3].map(() => stream.connect({ after: 0 }))
    const { recent } = stream
    stream.recent = (tenant, offset) => {
      stream.world.spend(1)
      return recent.call(stream, tenant, offset)
    }
    stream.world.step()
    // The first slice ends before the sockets have caught up.
    expect(Math.max(...sockets.map(({ sent }) => sent.length))).toBeLessThan(20)
    await readAll(stream)
    for (const socket of sockets) expect(socket.offsets).toEqual(range(1, 40))
  })

  test('yields to other work within a chunk of large events', async () => {
    stream.chunkCount = 40
    reports(40)
    const socket = stream.connect({ after: 0 })
    const { send } = socket
    socket.send = (message) => {
      stream.world.spend(1)
      return send.call(socket, message)
    }
    stream.world.step()
    expect(socket.sent.length).toBeLessThan(5)
    await readAll(stream)
    expect(socket.offsets).toEqual(range(1, 40))
  })

  test('waits while the store cannot be read, then continues', async () => {
    stream.recentFrom = 1_000
    reports(5)
    const { load } = stream
    stream.load = () => Promise.reject(new Error('being reopened'))
    const socket = stream.connect({ after: 0 })
    await stream.settle()
    stream.load = load
    expect(stream.failures).toHaveLength(1)
    await stream.world.advance(2_000)
    await readAll(stream)
    expect(socket.offsets).toEqual(range(1, 5))
  })
})

describe('a socket that does not keep up', () => {
  test('receives the newest value of each property, and no overridden values', async () => {
    const socket = stream.connect({ limitBytes: 1_000 })
    reports(30)
    await readAll(stream)
    const received = socket.offsets
    const live = received.findIndex((offset, index) => offset !== index + 1)
    // After the socket fell behind, it received one update of each of the three properties.
    expect(received.slice(live)).toEqual([28, 29, 30])
  })

  test('is behind before a message is lost, even if all events come in one release', async () => {
    const socket = stream.connect({ limitBytes: 1_000 })
    stream.publish(...range(1, 100).map((value) => stream.reportOf(`D${value}`, 0, 's', value)))
    expect(socket.lostCount).toBe(0)
    await readAll(stream)
    expect(socket.offsets).toEqual(range(1, 100))
  })

  test('buffers far less than its limit while it catches up', async () => {
    reports(200)
    const socket = stream.connect({ after: 0, limitBytes: 10_000 })
    await stream.settle()
    expect(socket.bufferedBytes()).toBeLessThan(1_000)
    expect(socket.lostCount).toBe(0)
    await readAll(stream)
    expect(socket.offsets).toEqual(range(1, 200))
  })
})

describe('after the store was read again', () => {
  test('events that are stored and not published are published', async () => {
    const socket = stream.connect()
    reports(2)
    await readAll(stream)
    // A write stored these events, but was reported as failed.
    for (const value of [3, 4]) stream.entries.push(stream.reportOf('A', 0, 's', value))
    stream.hub.reloaded(() => stream.last, false)
    stream.report('A', 0)
    await readAll(stream)
    expect(socket.offsets).toEqual([1, 2, 3, 4, 5])
  })

  test('all sockets read the full state again if the store has fewer events', async () => {
    const sockets = [stream.connect(), stream.connect({ limitBytes: 100 })]
    reports(5)
    stream.entries.length = 3
    stream.epoch = 'another'
    stream.hub.reloaded(() => stream.last, true)
    stream.report('B')
    await readAll(stream)
    for (const socket of sockets) {
      const resync = socket.received.findIndex(({ type }) => type === 'RESYNC')
      expect(socket.received[resync]).toMatchObject({ epoch: 'another' })
      expect(socket.received.at(-1)?.offset).toBeLessThanOrEqual(3)
    }
  })

  test('sockets that are up to date receive nothing', async () => {
    const socket = stream.connect()
    reports(2)
    stream.hub.reloaded(() => stream.last, false)
    await readAll(stream)
    expect(socket.offsets).toEqual([1, 2])
  })
})

describe('an event that cannot be encoded', () => {
  const unwritable = { kind: 'meta_set', device: 'A', at: 5, meta: { size: 1n } } as unknown as Entry

  test('sends RESYNC to every socket of the tenant, and later events follow', async () => {
    const socket = stream.connect()
    const other = stream.connect({ listener: { access: 'other' } })
    reports(1)
    stream.publish(unwritable)
    reports(1)
    await readAll(stream)
    for (const { received } of [socket, other]) {
      expect(received.map(({ type, offset }) => [type, offset])).toEqual([
        ['OBJECT_UPDATED', 1],
        ['RESYNC', 2],
        ['OBJECT_UPDATED', 3],
      ])
    }
    expect(stream.failures).toHaveLength(1)
  })

  test.each([1, 9])(
    'sends RESYNC to a socket that resumes before it, with chunks from offset %i in memory',
    async (recentFrom) => {
      stream.recentFrom = recentFrom
      reports(1)
      stream.publish(unwritable)
      reports(1)
      const socket = stream.connect({ after: 0 })
      await readAll(stream)
      reports(1)
      await readAll(stream)
      expect(types(socket)).toEqual(['STREAM', 'OBJECT_UPDATED', 'RESYNC', 'OBJECT_UPDATED'])
      expect(socket.offsets).toEqual([1, 3, 4])
    },
  )
})

test('stored events count as published at the start', async () => {
  for (let offset = 1; offset <= 3; offset++) stream.entries.push(stream.reportOf())
  stream.hub.load('default', 3)
  expect(stream.hub.publishedTo('default')).toBe(3)
  const socket = stream.connect({ after: 1 })
  await readAll(stream)
  expect(socket.offsets).toEqual([2, 3])
})
