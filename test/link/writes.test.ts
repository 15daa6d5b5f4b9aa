import { beforeEach, describe, expect, test } from 'vitest'
import { deviceAddress } from '#actors/device/device'
import { openWritesMax, openWritesOfDeviceMax, openWritesOfUserMax } from '#link/open-writes'
import type { WriteRequest } from '#link/writes'
import type { Problem } from '#model/problem'
import { pingEveryMs } from '#runtime/liveness'
import { LinkFixture, type TestLink, writeTimeoutMs } from '#test/link/link-fixture'

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

/** A connected device with a write that waits for its result. */
async function opened(more: Partial<WriteRequest> = {}): Promise<{ link: TestLink; write: PendingWrite }> {
  return { link: await setup.connected(), write: await startWrite(more) }
}

/** Sends a RESULT; its results are in the form of an outcome. */
async function result(link: TestLink, outcome = '1 OK', id = 'w1', flakeAddress = 1): Promise<void> {
  const results = (outcome === '' ? [] : outcome.split(', ')).map((text) => {
    const [propId, status, message] = text.split(' ')
    return { propId: Number(propId), status, ...(message && { message }) }
  })
  link.transmit({ type: 'RESULT', flakeAddress, id, results })
  await setup.settle()
}

const both = { values: { '1': 5, '2': 'x' } }
const openCount = () => setup.links.writes.openCount
const outcomesOf = (writes: readonly PendingWrite[]) => writes.map(({ outcome }) => outcome)

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
    expect([write.outcome, openCount()]).toEqual([undefined, 1])
    await result(link, '2 REJECTED locked, 1 OK')
    await result(link, '1 REJECTED repeated')
    expect([write.outcome, openCount()]).toEqual(['1 OK, 2 REJECTED locked', 0])
    expect(setup.links.writes.counts).toEqual({ sent: 1, answered: 1, timedOut: 0 })
    expect(setup.runtime.events.map(({ event }) => event.kind)).not.toContain('reported')
  })

  test('without waiting is answered when it is sent, and is not stored', async () => {
    const { link, write } = await opened({ ...both, isWaiting: false })
    expect([write.outcome, writesOf(link), openCount()]).toEqual(['1 SENT, 2 SENT', ['w1'], 0])
    await result(link)
    link.close()
    expect(writesOf(await setup.connected())).toEqual([])
  })

  test('may be answered in parts; the first result of each property counts', async () => {
    const { link, write } = await opened(both)
    await result(link, '1 REJECTED no')
    await result(link, '1 OK, 77 OK')
    await result(link, '')
    expect(write.outcome).toBeUndefined()
    await result(link, '2 OK')
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
    const { link, write } = await opened()
    const order: string[] = []
    setup.runtime.onReleased = () => order.push(`event ${write.outcome}`)
    link.update(1, 1, 5)
    await result(link)
    expect(order).toEqual(['event undefined'])
    expect(write.outcome).toBe('1 OK')
    expect(setup.device('A').services[0]?.stateOf(0)).toBe(5)
  })

  test('is answered while the store is read-only, because the device has executed it', async () => {
    const { link, write } = await opened()
    setup.faults.next = { fail: 'full', reachedDisk: false }
    link.update(1, 1, 5)
    await result(link)
    expect([write.outcome, link.closedWith]).toEqual(['1 OK', 1013])
  })

  test('with the id of an open write joins it', async () => {
    const link = await setup.connected()
    const write = [await startWrite(), await startWrite()]
    expect(writesOf(link)).toEqual(['w1'])
    await result(link)
    expect(outcomesOf(write)).toEqual(['1 OK', '1 OK'])
    expect(openCount()).toBe(0)
  })

  test('of an unknown device, or of a device of another tenant, is refused', async () => {
    const link = await setup.connected()
    for (const more of [{ device: 'B' }, { tenant: 'other' }])
      expect((await startWrite(more)).outcome).toBe('not_found')
    expect(link.lines).toEqual(['WELCOME @1 0'])
  })

  test('with a result resets the count of refused frames', async () => {
    const { link } = await opened()
    for (let count = 0; count < 9; count++) link.update(1, count + 1, 'bad')
    await result(link)
    for (let count = 0; count < 9; count++) link.update(1, count + 20, 'bad')
    await setup.settle()
    expect(link.closedWith).toBeUndefined()
    // A result without a write neither counts nor resets.
    await result(link)
    link.update(1, 40, 'bad')
    await setup.settle()
    expect(link.closedWith).toBe(4400)
  })
})

test('a result on another connection, of another device, or with another id or address is ignored', async () => {
  const { link, write } = await opened()
  const other = await setup.connected('B')
  await result(other)
  await result(other, '1 OK', 'w1', 2)
  await result(link, '1 OK', 'w2')
  await result(link, '1 OK', 'w1', 99)
  expect([write.outcome, link.closedWith, other.closedWith]).toEqual([undefined, undefined, undefined])
  expect(other.lines).toEqual(['WELCOME @2 0'])
  await result(link)
  expect(write.outcome).toBe('1 OK')
})

test('a write has a timeout from its start, even after a partial result; a repeated one has another', async () => {
  const { link, write } = await opened(both)
  await setup.world.advance(4_000)
  const second = await startWrite({ id: 'w2' })
  await result(link)
  await setup.world.advance(writeTimeoutMs - 4_001)
  expect(write.outcome).toBeUndefined()
  await setup.world.advance(1)
  expect([write.outcome, second.outcome]).toEqual(['device_timeout', undefined])
  await setup.world.advance(4_000)
  expect(second.outcome).toBe('device_timeout')
  expect(setup.links.writes.counts).toEqual({ sent: 2, answered: 0, timedOut: 2 })
  await result(link, '1 OK', 'w2')
  const again = await startWrite({ id: 'w2', isRepeated: true })
  expect(writesOf(link)).toEqual(['w1', 'w2', 'w2'])
  await result(link, '1 OK', 'w2')
  expect([second.outcome, again.outcome, openCount()]).toEqual(['device_timeout', '1 OK', 0])
})

describe('without a connection that answers', () => {
  test.each<[string, (link: TestLink) => unknown]>([
    ['has sent BYE', (link) => link.transmit({ type: 'BYE', flakeAddress: 1 })],
    ['left just now', (link) => link.close()],
    ['is being disconnected', (link) => setup.links.dropped(link)],
  ])('a device that %s is offline', async (_, leave) => {
    leave(await setup.connected())
    expect([(await startWrite()).outcome, setup.links.writes.counts.sent]).toEqual(['device_offline', 0])
  })

  test('an idle device gets the write', async () => {
    const link = await setup.connected()
    link.isAnswering = false
    await setup.world.advance(2 * pingEveryMs + 2_000)
    await startWrite()
    expect([setup.device('A').status, writesOf(link)]).toEqual(['idle', ['w1']])
  })

  test.each([
    ['after WELCOME', true],
    ['before the write is sent again', false],
  ])('a repeated write waits for the device, which may answer it %s', async (_, isSent) => {
    ;(await setup.connected()).close()
    const write = await startWrite({ isRepeated: true })
    const back = setup.connect()
    back.hello('A')
    if (isSent) await setup.settle()
    expect([write.outcome, writesOf(back)]).toEqual([undefined, isSent ? ['w1'] : []])
    await result(back)
    expect([write.outcome, writesOf(back)]).toEqual(['1 OK', isSent ? ['w1'] : []])
  })

  test('a repeated write without waiting is sent at once or fails', async () => {
    ;(await setup.connected()).close()
    expect((await startWrite({ isRepeated: true, isWaiting: false })).outcome).toBe('device_offline')
    const back = await setup.connected()
    expect((await startWrite({ isRepeated: true, isWaiting: false })).outcome).toBe('1 SENT')
    expect(writesOf(back)).toEqual(['w1'])
  })
})

describe('an open write is sent again', () => {
  test.each<[string, (link: TestLink) => Promise<TestLink>]>([
    ['HELLO on the same connection', (link) => setup.connected('A', {}, link)],
    ['HELLO on another connection', () => setup.connected()],
    [
      'BYE',
      async (link) => {
        link.transmit({ type: 'BYE', flakeAddress: 1 })
        return setup.connected('A', {}, link)
      },
    ],
    [
      'a storage failure',
      async () => {
        setup.links.storageFailed()
        return setup.connected()
      },
    ],
  ])('after %s, and only the connection of the device can answer it', async (_, interrupt) => {
    const { link, write } = await opened()
    const next = await interrupt(link)
    expect(next.lines.slice(-2)).toEqual(['WELCOME @1 0', 'WRITE @1'])
    if (next !== link) await result(link, '1 REJECTED late')
    expect(write.outcome).toBeUndefined()
    await result(next)
    const sent = next === link ? ['w1', 'w1'] : ['w1']
    expect([write.outcome, writesOf(link), writesOf(next)]).toEqual(['1 OK', sent, sent])
  })

  test('to a device that returns in time, in order and after WELCOME, as far as it was not answered', async () => {
    const link = await setup.connected()
    const write = [await startWrite(both), await startWrite({ id: 'w2' }), await startWrite({ id: 'w3' })]
    await result(link)
    await result(link, '1 OK', 'w2')
    link.close()
    await setup.world.advance(5_000)
    const back = await setup.connected()
    expect(back.lines).toEqual(['WELCOME @1 0', 'WRITE @1', 'WRITE @1'])
    expect(writesOf(back)).toEqual(['w1', 'w3'])
    await result(back, '1 OK', 'w3')
    await result(back, '2 OK')
    expect(outcomesOf(write)).toEqual(['1 OK, 2 OK', '1 OK', '1 OK'])
  })

  test('after WELCOME, and new writes too', async () => {
    const old = await setup.connected()
    old.update(1, 1)
    const write = [new PendingWrite(), new PendingWrite({ id: 'w2', isWaiting: false })]
    const next = await setup.connected()
    expect(next.lines).toEqual(['WELCOME @1 1', 'WRITE @1', 'WRITE @1'])
    expect(writesOf(old)).toEqual([])
    expect(outcomesOf(write)).toEqual([undefined, '1 SENT'])
  })
})

test('a removed device ends its own writes with 404, and does not get them when it is created again', async () => {
  const { link, write } = await opened()
  const other = await setup.connected('B')
  const others = await startWrite({ device: 'B' })
  link.close()
  setup.runtime.ask(deviceAddress('default', 'A'), { type: 'remove' })
  const next = await setup.connected('A')
  expect(next.lines).toEqual(['WELCOME @3 0'])
  await result(next, '1 OK', 'w1', 3)
  // A device with another address.
  setup.links.removed('default', 'A', 4)
  await setup.settle()
  expect(write.outcome).toBeUndefined()
  setup.links.removed('default', 'A', 1)
  await setup.settle()
  expect([write.outcome, setup.links.statusOf('default', 'A')]).toEqual(['not_found', 'online'])
  await result(other, '1 OK', 'w1', 2)
  expect(others.outcome).toBe('1 OK')
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
    await result(link, '1 OK', 'a7')
    expect((await startWrite({ id: 'one more' })).outcome).toBeUndefined()

    const gateway = setup.connect()
    const devices = Math.ceil(openWritesMax / openWritesOfDeviceMax)
    for (let device = 0; device < devices; device++) gateway.hello(`D${device}`)
    await setup.settle()
    const left = openWritesMax - openCount()
    for (let count = 0; count < left; count++) {
      new PendingWrite({ device: `D${count % devices}`, id: `d${count}` })
    }
    await setup.settle()
    expect(openCount()).toBe(openWritesMax)
    expect((await startWrite({ device: 'B', id: 'w2' })).outcome).toBe('overloaded')
    await setup.world.advance(writeTimeoutMs)
    expect(openCount()).toBe(0)
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
  const { link, write } = await opened()
  const late = new PendingWrite({ id: 'w2' })
  setup.links.stop()
  await setup.settle()
  expect([write.outcome, late.outcome]).toEqual(['device_timeout', 'stopping'])
  expect(writesOf(link)).toEqual(['w1'])
  await result(link)
  expect([write.outcome, openCount()]).toEqual(['device_timeout', 0])
})
