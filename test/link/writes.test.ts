import { beforeEach, describe, expect, test } from 'vitest'
import { deviceAddress } from '#actors/device/device'
import { openWritesMax, openWritesOfDeviceMax, openWritesOfUserMax } from '#link/open-writes'
import type { WriteRequest } from '#link/writes'
import type { Problem } from '#model/problem'
import { pingEveryMs } from '#runtime/liveness'
import { LinkFixture, type TestLink, writeTimeoutMs } from '#test/link/link-fixture'
import { ManualWorld } from '#test/runtime/manual-world'
import { faultyStorage } from '#test/runtime/runtime-fixture'

let setup: LinkFixture

beforeEach(async () => {
  setup = await LinkFixture.open()
})

/** A pending write and its outcome: `1 OK`, `1 OK, 2 REJECTED why`, or the code of a refusal. */
class PendingWrite {
  outcome: string | undefined

  constructor(more: Partial<WriteRequest> = {}) {
    const request = { tenant: 'default', device: 'A', service: 'svc', values: { '1': 5 }, schema: undefined, id: 'w1' }
    setup.links.writes.ask({ ...request, isWaiting: true, isRepeated: false, ...more }).then(
      ({ updates }) => {
        this.outcome = updates.map((update) => Object.values(update).join(' ')).join(', ')
      },
      (problem: Problem) => {
        this.outcome = problem.code
      },
    )
  }
}

async function startWrite(more: Partial<WriteRequest> = {}): Promise<PendingWrite> {
  const write = new PendingWrite(more)
  await setup.settle()
  return write
}

function writesOf(link: TestLink): unknown[] {
  return link.received.filter(({ type }) => type === 'WRITE').map(({ id }) => id)
}

async function result(
  link: TestLink,
  results: readonly (readonly [number, string, string?])[],
  id = 'w1',
  address = 1,
) {
  link.transmit({
    type: 'RESULT',
    flakeAddress: address,
    id,
    results: results.map(([propId, status, message]) => ({ propId, status, ...(message && { message }) })),
  })
  await setup.settle()
}

describe('a write', () => {
  test.each(['json', 'msgpack'] as const)('is sent to the device and answered by it (%s)', async (protocol) => {
    const link = await setup.connected('A', {}, setup.connect({ protocol }))
    const write = await startWrite({ values: { '0x2': 'x', '1': 5 } })
    expect(link.received.at(-1)).toEqual({
      type: 'WRITE',
      flakeAddress: 1,
      id: 'w1',
      serviceIdentifier: 'svc',
      updates: [
        { propId: 1, value: 5 },
        { propId: 2, value: 'x' },
      ],
    })
    expect([write.outcome, setup.links.writes.openCount]).toEqual([undefined, 1])
    await result(link, [
      [2, 'REJECTED', 'locked'],
      [1, 'OK'],
    ])
    expect(write.outcome).toBe('1 OK, 2 REJECTED locked')
    expect(setup.links.writes.openCount).toBe(0)
    expect(setup.links.writes.counts).toEqual({ sent: 1, answered: 1, timedOut: 0 })
    expect(setup.runtime.events.map(({ event }) => event.kind)).not.toContain('reported')
  })

  test('without waiting is answered when it is sent, and is not stored', async () => {
    const link = await setup.connected()
    const write = await startWrite({ isWaiting: false, values: { '1': 5, '2': 'x' } })
    expect([write.outcome, writesOf(link), setup.links.writes.openCount]).toEqual(['1 SENT, 2 SENT', ['w1'], 0])
    await result(link, [[1, 'OK']])
    link.close()
    expect(writesOf(await setup.connected())).toEqual([])
  })

  test('may be answered in parts; the first result of each property counts', async () => {
    const link = await setup.connected()
    const write = await startWrite({ values: { '1': 5, '2': 'x' } })
    await result(link, [[1, 'REJECTED', 'no']])
    await result(link, [
      [1, 'OK'],
      [77, 'OK'],
    ])
    await result(link, [])
    expect(write.outcome).toBeUndefined()
    await result(link, [[2, 'OK']])
    expect(write.outcome).toBe('1 REJECTED no, 2 OK')
  })

  test('is sent after earlier reports are stored, and an invalid one is not sent', async () => {
    const link = await setup.connected()
    link.update(1, 1)
    const write = new PendingWrite()
    const refused = new PendingWrite({ values: { '1': 'x' }, id: 'w2' })
    expect(writesOf(link)).toEqual([])
    await setup.settle()
    expect(link.lines.slice(1)).toEqual(['A @1 1', 'WRITE @1'])
    expect([write.outcome, refused.outcome]).toEqual([undefined, 'invalid'])
  })

  test('is answered after earlier reports of the device are published', async () => {
    const link = await setup.connected()
    const write = await startWrite()
    const order: string[] = []
    setup.runtime.onReleased = () => order.push(`event ${write.outcome}`)
    link.update(1, 1, 5)
    await result(link, [[1, 'OK']])
    expect(order).toEqual(['event undefined'])
    expect(write.outcome).toBe('1 OK')
    expect(setup.device('A').services[0]?.stateOf(0)).toBe(5)
  })

  test('is answered while the store is read-only, because the device has executed it', async () => {
    const world = new ManualWorld()
    const { backend, faults } = faultyStorage(world)
    setup = await LinkFixture.open({ world, backend })
    const link = await setup.connected()
    const write = await startWrite()
    faults.next = { fail: 'full', reachedDisk: false }
    link.update(1, 1, 5)
    await result(link, [[1, 'OK']])
    expect([write.outcome, link.closedWith]).toEqual(['1 OK', 1013])
  })

  test('with the id of an open write joins it', async () => {
    const link = await setup.connected()
    const write = [await startWrite(), await startWrite()]
    expect(writesOf(link)).toEqual(['w1'])
    await result(link, [[1, 'OK']])
    expect(write.map(({ outcome }) => outcome)).toEqual(['1 OK', '1 OK'])
    expect(setup.links.writes.openCount).toBe(0)
  })

  test.each<[string, Partial<WriteRequest>, string]>([
    ['an unknown device', { device: 'B' }, 'not_found'],
    ['a device of another tenant', { tenant: 'other' }, 'not_found'],
    ['an undeclared service', { service: 'other' }, 'not_found'],
    ['an undeclared property', { values: { '9': 1 } }, 'property_unknown'],
    ['an invalid value', { values: { '1': 256 } }, 'invalid'],
  ])('of %s is refused', async (_, more, code) => {
    const link = await setup.connected()
    expect((await startWrite(more)).outcome).toBe(code)
    expect(link.lines).toEqual(['WELCOME @1 0'])
  })

  test('with a result resets the count of refused frames', async () => {
    const link = await setup.connected()
    await startWrite()
    for (let count = 0; count < 9; count++) link.update(1, count + 1, 'bad')
    await result(link, [[1, 'OK']])
    for (let count = 0; count < 9; count++) link.update(1, count + 20, 'bad')
    await setup.settle()
    expect(link.closedWith).toBeUndefined()
    // A result without a write neither counts nor resets.
    await result(link, [[1, 'OK']])
    link.update(1, 40, 'bad')
    await setup.settle()
    expect(link.closedWith).toBe(4400)
  })
})

describe('a result is ignored', () => {
  test.each<[string, (link: TestLink, other: TestLink) => Promise<void>]>([
    ['on another connection', (_, other) => result(other, [[1, 'OK']])],
    ['of another device', (_, other) => result(other, [[1, 'OK']], 'w1', 2)],
    ['with another id', (link) => result(link, [[1, 'OK']], 'w2')],
    ['with an unknown address', (link) => result(link, [[1, 'OK']], 'w1', 99)],
  ])('%s', async (_, answer) => {
    const link = await setup.connected()
    const other = await setup.connected('B')
    const write = await startWrite()
    await answer(link, other)
    expect([write.outcome, link.closedWith, other.closedWith]).toEqual([undefined, undefined, undefined])
    expect(other.lines).toEqual(['WELCOME @2 0'])
    await result(link, [[1, 'OK']])
    expect(write.outcome).toBe('1 OK')
  })

  test('from the old connection after a takeover; the new one gets the same write, and can answer it', async () => {
    const old = await setup.connected()
    const write = await startWrite()
    const next = await setup.connected()
    expect(next.lines).toEqual(['WELCOME @1 0', 'WRITE @1'])
    await result(old, [[1, 'REJECTED', 'late']])
    expect(write.outcome).toBeUndefined()
    await result(next, [[1, 'OK']])
    expect(write.outcome).toBe('1 OK')
    expect([writesOf(old), writesOf(next)]).toEqual([['w1'], ['w1']])
  })

  test('if it is repeated', async () => {
    const link = await setup.connected()
    const write = await startWrite()
    await result(link, [[1, 'OK']])
    await result(link, [[1, 'REJECTED']])
    expect(write.outcome).toBe('1 OK')
    expect(setup.links.writes.counts.answered).toBe(1)
  })

  test('after the timeout, unless the write is repeated', async () => {
    const link = await setup.connected()
    const write = await startWrite()
    await setup.world.advance(writeTimeoutMs - 1)
    expect(write.outcome).toBeUndefined()
    await setup.world.advance(1)
    expect(write.outcome).toBe('device_timeout')
    expect(setup.links.writes.counts).toEqual({ sent: 1, answered: 0, timedOut: 1 })
    await result(link, [[1, 'OK']])
    const again = await startWrite({ isRepeated: true })
    expect(writesOf(link)).toEqual(['w1', 'w1'])
    await result(link, [[1, 'OK']])
    expect([write.outcome, again.outcome]).toEqual(['device_timeout', '1 OK'])
  })
})

test('the timeout of a write starts with the write, and a partial result does not stop it', async () => {
  const link = await setup.connected()
  const first = await startWrite({ values: { '1': 5, '2': 'x' } })
  await setup.world.advance(4_000)
  const second = await startWrite({ id: 'w2' })
  await result(link, [[1, 'OK']])
  await setup.world.advance(6_000)
  expect([first.outcome, second.outcome]).toEqual(['device_timeout', undefined])
  await setup.world.advance(4_000)
  expect(second.outcome).toBe('device_timeout')
  expect([setup.links.writes.openCount, setup.links.writes.counts.timedOut]).toEqual([0, 2])
})

describe('without a connection', () => {
  test('a device that never connected, or left, is offline', async () => {
    await setup.addDevice('A')
    setup.runtime.ask(deviceAddress('default', 'A'), { type: 'post', session: undefined, updates: [] })
    const link = await setup.connected('A')
    link.transmit({ type: 'BYE', flakeAddress: 1 })
    await setup.settle()
    expect((await startWrite()).outcome).toBe('device_offline')
    link.hello('A')
    await setup.settle()
    link.close()
    // At once, before its status changes.
    expect((await startWrite()).outcome).toBe('device_offline')
    expect(setup.links.writes.counts.sent).toBe(0)
  })

  test('an idle device gets the write', async () => {
    const link = await setup.connected()
    link.isAnswering = false
    await setup.world.advance(2 * pingEveryMs + 2_000)
    expect(setup.device('A').status).toBe('idle')
    const write = await startWrite()
    await result(link, [[1, 'OK']])
    expect(write.outcome).toBe('1 OK')
  })

  test('a device on a closing connection is offline', async () => {
    const link = await setup.connected()
    for (let count = 0; count < 10; count++) link.update(1, count + 1, 'bad')
    const write = new PendingWrite()
    await setup.settle()
    expect([write.outcome, writesOf(link)]).toEqual(['device_offline', []])
  })

  test('a repeated write waits for the device', async () => {
    const link = await setup.connected()
    link.close()
    const write = await startWrite({ isRepeated: true })
    expect(write.outcome).toBeUndefined()
    const back = await setup.connected()
    expect(back.lines).toEqual(['WELCOME @1 0', 'WRITE @1'])
    await result(back, [[1, 'OK']])
    expect(write.outcome).toBe('1 OK')
  })

  test('a repeated write without waiting is sent at once or fails', async () => {
    const link = await setup.connected()
    link.close()
    expect((await startWrite({ isRepeated: true, isWaiting: false })).outcome).toBe('device_offline')
    const back = await setup.connected()
    expect((await startWrite({ isRepeated: true, isWaiting: false })).outcome).toBe('1 SENT')
    expect(writesOf(back)).toEqual(['w1'])
  })

  test('a result that arrives with HELLO ends the write before it is sent again', async () => {
    const link = await setup.connected()
    link.close()
    const write = await startWrite({ isRepeated: true })
    const back = setup.connect()
    back.hello('A')
    await result(back, [[1, 'OK']])
    expect(write.outcome).toBe('1 OK')
    expect(writesOf(back)).toEqual([])
  })
})

describe('after a broken connection', () => {
  test('a device that returns in time gets its open writes again, in order, after WELCOME', async () => {
    const link = await setup.connected()
    const write = [await startWrite({ id: 'w1' }), await startWrite({ id: 'w2' }), await startWrite({ id: 'w3' })]
    await result(link, [[1, 'OK']], 'w2')
    link.close()
    await setup.world.advance(5_000)
    const back = await setup.connected()
    expect(back.lines).toEqual(['WELCOME @1 0', 'WRITE @1', 'WRITE @1'])
    expect(writesOf(back)).toEqual(['w1', 'w3'])
    await result(back, [[1, 'OK']], 'w3')
    await result(back, [[1, 'OK']], 'w1')
    expect(write.map(({ outcome }) => outcome)).toEqual(['1 OK', '1 OK', '1 OK'])
  })

  test('a device that returns too late gets no writes', async () => {
    const link = await setup.connected()
    const write = await startWrite()
    link.close()
    await setup.world.advance(writeTimeoutMs)
    expect(write.outcome).toBe('device_timeout')
    expect(writesOf(await setup.connected())).toEqual([])
  })

  test('a partly answered write continues with the rest', async () => {
    const link = await setup.connected()
    const write = await startWrite({ values: { '1': 5, '2': 'x' } })
    await result(link, [[1, 'OK']])
    link.close()
    const back = await setup.connected()
    await result(back, [[2, 'OK']])
    expect(write.outcome).toBe('1 OK, 2 OK')
  })

  test('a repeated HELLO on the same connection gets the open writes, too', async () => {
    const link = await setup.connected()
    const write = await startWrite()
    link.hello('A')
    await setup.settle()
    expect(link.lines).toEqual(['WELCOME @1 0', 'WRITE @1', 'WELCOME @1 0', 'WRITE @1'])
    await result(link, [[1, 'OK']])
    expect(write.outcome).toBe('1 OK')
  })

  test('or after BYE, a write waits for the device', async () => {
    const link = await setup.connected()
    const write = await startWrite()
    link.transmit({ type: 'BYE', flakeAddress: 1 })
    await result(link, [[1, 'OK']])
    expect(write.outcome).toBeUndefined()
    link.hello('A')
    await setup.settle()
    await result(link, [[1, 'OK']])
    expect(write.outcome).toBe('1 OK')
  })

  test('WRITE comes after WELCOME', async () => {
    const old = await setup.connected()
    old.update(1, 1)
    const write = [new PendingWrite(), new PendingWrite({ id: 'w2', isWaiting: false })]
    const next = await setup.connected()
    expect(next.lines).toEqual(['WELCOME @1 1', 'WRITE @1', 'WRITE @1'])
    expect(writesOf(old)).toEqual([])
    expect(write.map(({ outcome }) => outcome)).toEqual([undefined, '1 SENT'])
  })
})

describe('a device that is removed', () => {
  test('ends its own writes with 404', async () => {
    await setup.connected('A')
    const other = await setup.connected('B')
    const write = [await startWrite(), await startWrite({ device: 'B' })]
    // A device with another address, which was created since.
    setup.links.removed('default', 'A', 2)
    await setup.settle()
    expect(write[0]?.outcome).toBeUndefined()
    setup.links.removed('default', 'A', 1)
    await setup.settle()
    await result(other, [[1, 'OK']], 'w1', 2)
    expect(write.map(({ outcome }) => outcome)).toEqual(['not_found', '1 OK'])
  })

  test('does not get its old writes when it is created again', async () => {
    const link = await setup.connected('A')
    const write = await startWrite()
    link.close()
    setup.runtime.ask(deviceAddress('default', 'A'), { type: 'remove' })
    const next = await setup.connected('A')
    expect(next.lines).toEqual(['WELCOME @2 0'])
    await result(next, [[1, 'OK']], 'w1', 2)
    expect(write.outcome).toBeUndefined()
    setup.links.removed('default', 'A', 1)
    await setup.settle()
    expect(write.outcome).toBe('not_found')
    expect(setup.links.statusOf('default', 'A')).toBe('online')
  })
})

describe('limits', () => {
  test('32 open writes of one user for a device do not block other users', async () => {
    await setup.connected('A')
    for (let count = 0; count < openWritesOfUserMax; count++) new PendingWrite({ id: `a${count}`, user: 'mallory' })
    await setup.settle()
    expect((await startWrite({ id: 'one more', user: 'mallory' })).outcome).toBe('too_many_requests')
    expect((await startWrite({ id: 'another', user: 'ann' })).outcome).toBeUndefined()
  })

  test('a device may have 64 open writes, and all devices together 10 000', async () => {
    const link = await setup.connected('A')
    for (let count = 0; count < openWritesOfDeviceMax; count++) new PendingWrite({ id: `a${count}` })
    await setup.settle()
    const refused = await startWrite({ id: 'one more' })
    expect([refused.outcome, writesOf(link).length]).toEqual(['overloaded', openWritesOfDeviceMax])
    await setup.connected('B')
    expect((await startWrite({ device: 'B' })).outcome).toBeUndefined()
    await result(link, [[1, 'OK']], 'a7')
    expect((await startWrite({ id: 'one more' })).outcome).toBeUndefined()

    const gateway = setup.connect()
    const devices = Math.ceil(openWritesMax / openWritesOfDeviceMax)
    for (let device = 0; device < devices; device++) gateway.hello(`D${device}`)
    await setup.settle()
    const left = openWritesMax - setup.links.writes.openCount
    for (let count = 0; count < left; count++) {
      new PendingWrite({ device: `D${count % devices}`, id: `d${count}` })
    }
    await setup.settle()
    expect(setup.links.writes.openCount).toBe(openWritesMax)
    expect((await startWrite({ device: 'B', id: 'w2' })).outcome).toBe('overloaded')
    await setup.world.advance(writeTimeoutMs)
    expect(setup.links.writes.openCount).toBe(0)
    expect((await startWrite({ device: 'B', id: 'w2' })).outcome).toBeUndefined()
  })

  test('a connection that does not read gets no more writes', async () => {
    const link = await setup.connected()
    link.buffered = 512 * 1024
    const write = await startWrite()
    link.buffered++
    expect((await startWrite({ id: 'w2' })).outcome).toBe('overloaded')
    expect((await startWrite({ id: 'w2', isWaiting: false })).outcome).toBe('overloaded')
    expect([writesOf(link), write.outcome]).toEqual([['w1'], undefined])
  })

  test('a returning device gets as many open writes as its connection accepts, and the rest later', async () => {
    const link = await setup.connected()
    for (const id of ['w1', 'w2', 'w3']) await startWrite({ id })
    link.close()
    const back = setup.connect()
    back.buffered = 512 * 1024
    const { send } = back
    back.send = (frame) => {
      if (String(frame).includes('WRITE')) back.buffered += 100
      return send.call(back, frame)
    }
    back.hello('A')
    await setup.settle()
    expect(writesOf(back)).toEqual(['w1'])
    // The connection has not drained yet.
    setup.links.drained(back)
    expect(writesOf(back)).toEqual(['w1'])
    back.buffered = 0
    setup.links.drained(back)
    expect(writesOf(back)).toEqual(['w1', 'w2', 'w3'])
    setup.links.drained(back)
    expect(writesOf(back)).toHaveLength(3)
  })

  test('a write that exceeds the frame size is refused', async () => {
    const properties = Array.from({ length: 9 }, (_, index) => ({ propId: index, type: 'STRING' }))
    const link = await setup.connected('A', { services: [{ serviceIdentifier: 'svc', properties }] })
    const values = Object.fromEntries(properties.map(({ propId }) => [propId, 'x'.repeat(65_536)]))
    expect((await startWrite({ values })).outcome).toBe('too_large')
    expect(writesOf(link)).toEqual([])
  })
})

test('a server that stops ends waiting writes at once, and sends no more', async () => {
  const link = await setup.connected()
  const write = await startWrite()
  const late = new PendingWrite({ id: 'w2' })
  setup.links.stop()
  await setup.settle()
  expect([write.outcome, late.outcome]).toEqual(['device_timeout', 'stopping'])
  expect(writesOf(link)).toEqual(['w1'])
  await result(link, [[1, 'OK']])
  expect([write.outcome, setup.links.writes.openCount]).toEqual(['device_timeout', 0])
})

test('connections that close for a storage failure keep writes waiting for the device', async () => {
  const link = await setup.connected()
  const write = await startWrite()
  setup.links.storageFailed()
  await setup.settle()
  expect([link.closedWith, write.outcome]).toEqual([1013, undefined])
  const back = await setup.connected()
  await result(back, [[1, 'OK']])
  expect(write.outcome).toBe('1 OK')
})
