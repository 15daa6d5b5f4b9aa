import { beforeEach, describe, expect, test } from 'vitest'
import { deviceAddress } from '#actors/device/device'
import { openWritesMax, openWritesOfDeviceMax, openWritesOfUserMax } from '#link/open-writes'
import type { WriteRequest } from '#link/writes'
import type { Problem } from '#model/problem'
import { pingEveryMs } from '#runtime/liveness'
import { LinkStage, type TestLink, writeTimeoutMs } from '#test/link/link-stage'
import { ManualWorld } from '#test/runtime/manual-world'
import { faultyPlace } from '#test/runtime/stage'

let room: LinkStage

beforeEach(async () => {
  room = await LinkStage.open()
})

async function linked(device = 'A', more: Parameters<TestLink['hello']>[1] = {}): Promise<TestLink> {
  const link = room.connect()
  link.hello(device, more)
  await room.settle()
  return link
}

/** A write under way; what became of it, once something did: `1 OK`, `1 OK, 2 REJECTED why`, or the code of a refusal. */
class Asked {
  outcome: string | undefined

  constructor(more: Partial<WriteRequest> = {}) {
    const request = { tenant: 'default', device: 'A', service: 'svc', values: { '1': 5 }, schema: undefined, id: 'w1' }
    room.links.writes.ask({ ...request, isWaiting: true, isRepeated: false, ...more }).then(
      ({ updates }) => {
        this.outcome = updates.map((update) => Object.values(update).join(' ')).join(', ')
      },
      (problem: Problem) => {
        this.outcome = problem.code
      },
    )
  }
}

async function ask(more: Partial<WriteRequest> = {}): Promise<Asked> {
  const asked = new Asked(more)
  await room.settle()
  return asked
}

function writesOf(link: TestLink): unknown[] {
  return link.heard.filter(({ type }) => type === 'WRITE').map(({ id }) => id)
}

async function result(
  link: TestLink,
  results: readonly (readonly [number, string, string?])[],
  id = 'w1',
  address = 1,
) {
  link.say({
    type: 'RESULT',
    flakeAddress: address,
    id,
    results: results.map(([propId, status, message]) => ({ propId, status, ...(message && { message }) })),
  })
  await room.settle()
}

describe('a write', () => {
  test.each(['json', 'msgpack'] as const)('is heard by the device, and answered by it (%s)', async (protocol) => {
    const link = room.connect({ protocol })
    link.hello('A')
    await room.settle()
    const asked = await ask({ values: { '0x2': 'x', '1': 5 } })
    expect(link.heard.at(-1)).toEqual({
      type: 'WRITE',
      flakeAddress: 1,
      id: 'w1',
      serviceIdentifier: 'svc',
      updates: [
        { propId: 1, value: 5 },
        { propId: 2, value: 'x' },
      ],
    })
    expect([asked.outcome, room.links.writes.openCount]).toEqual([undefined, 1])
    await result(link, [
      [2, 'REJECTED', 'locked'],
      [1, 'OK'],
    ])
    expect(asked.outcome).toBe('1 OK, 2 REJECTED locked')
    expect(room.links.writes.openCount).toBe(0)
    expect(room.links.writes.counts).toEqual({ sent: 1, answered: 1, timedOut: 0 })
    expect(room.stage.events.map(({ event }) => event.kind)).not.toContain('reported')
  })

  test('that is not waited for is answered when it is sent, and is kept nowhere', async () => {
    const link = await linked()
    const asked = await ask({ isWaiting: false, values: { '1': 5, '2': 'x' } })
    expect([asked.outcome, writesOf(link), room.links.writes.openCount]).toEqual(['1 SENT, 2 SENT', ['w1'], 0])
    await result(link, [[1, 'OK']])
    link.close()
    expect(writesOf(await linked())).toEqual([])
  })

  test('may be answered bit by bit; the first word about each property counts', async () => {
    const link = await linked()
    const asked = await ask({ values: { '1': 5, '2': 'x' } })
    await result(link, [[1, 'REJECTED', 'no']])
    await result(link, [
      [1, 'OK'],
      [77, 'OK'],
    ])
    await result(link, [])
    expect(asked.outcome).toBeUndefined()
    await result(link, [[2, 'OK']])
    expect(asked.outcome).toBe('1 REJECTED no, 2 OK')
  })

  test('is only asked when what it rests on is stored, and nothing is asked that is refused', async () => {
    const link = await linked()
    link.update(1, 1)
    const asked = new Asked()
    const refused = new Asked({ values: { '1': 'x' }, id: 'w2' })
    expect(writesOf(link)).toEqual([])
    await room.settle()
    expect(link.lines.slice(1)).toEqual(['A @1 1', 'WRITE @1'])
    expect([asked.outcome, refused.outcome]).toEqual([undefined, 'invalid'])
  })

  test('is answered behind what the device said before: who hears it reads that', async () => {
    const link = await linked()
    const asked = await ask()
    const order: string[] = []
    room.stage.onReleased = () => order.push(`told ${asked.outcome}`)
    link.update(1, 1, 5)
    await result(link, [[1, 'OK']])
    expect(order).toEqual(['told undefined'])
    expect(asked.outcome).toBe('1 OK')
    expect(room.device('A').services[0]?.stateOf(0)).toBe(5)
  })

  test('whose answer comes while nothing can be stored is answered: the device did it', async () => {
    const world = new ManualWorld()
    const { place, faults } = faultyPlace(world)
    room = await LinkStage.open({ world, place })
    const link = await linked()
    const asked = await ask()
    faults.next = { fail: 'full', reachedDisk: false }
    link.update(1, 1, 5)
    await result(link, [[1, 'OK']])
    expect([asked.outcome, link.closedWith]).toEqual(['1 OK', 1013])
  })

  test('under an id that is open joins it', async () => {
    const link = await linked()
    const asked = [await ask(), await ask()]
    expect(writesOf(link)).toEqual(['w1'])
    await result(link, [[1, 'OK']])
    expect(asked.map(({ outcome }) => outcome)).toEqual(['1 OK', '1 OK'])
    expect(room.links.writes.openCount).toBe(0)
  })

  test.each<[string, Partial<WriteRequest>, string]>([
    ['a device nobody knows', { device: 'B' }, 'not_found'],
    ['a device of another tenant', { tenant: 'other' }, 'not_found'],
    ['a service it does not offer', { service: 'other' }, 'not_found'],
    ['a property it does not have', { values: { '9': 1 } }, 'property_unknown'],
    ['a value it does not take', { values: { '1': 256 } }, 'invalid'],
  ])('of %s is refused', async (_, more, code) => {
    const link = await linked()
    expect((await ask(more)).outcome).toBe(code)
    expect(link.lines).toEqual(['WELCOME @1 0'])
  })

  test('makes a refused frame before it no part of ten in a row', async () => {
    const link = await linked()
    await ask()
    for (let count = 0; count < 9; count++) link.update(1, count + 1, 'bad')
    await result(link, [[1, 'OK']])
    for (let count = 0; count < 9; count++) link.update(1, count + 20, 'bad')
    await room.settle()
    expect(link.closedWith).toBeUndefined()
    // One that nobody asked about is no good frame, and no bad one.
    await result(link, [[1, 'OK']])
    link.update(1, 40, 'bad')
    await room.settle()
    expect(link.closedWith).toBe(4400)
  })
})

describe('an answer means nothing', () => {
  test.each<[string, (link: TestLink, other: TestLink) => Promise<void>]>([
    ['on another link', (_, other) => result(other, [[1, 'OK']])],
    ['of another device', (_, other) => result(other, [[1, 'OK']], 'w1', 2)],
    ['of another id', (link) => result(link, [[1, 'OK']], 'w2')],
    ['to an address nobody has', (link) => result(link, [[1, 'OK']], 'w1', 99)],
  ])('%s', async (_, answer) => {
    const link = await linked()
    const other = await linked('B')
    const asked = await ask()
    await answer(link, other)
    expect([asked.outcome, link.closedWith, other.closedWith]).toEqual([undefined, undefined, undefined])
    expect(other.lines).toEqual(['WELCOME @2 0'])
    await result(link, [[1, 'OK']])
    expect(asked.outcome).toBe('1 OK')
  })

  test('of an older generation; the newer one hears the same write, and its word counts', async () => {
    const old = await linked()
    const asked = await ask()
    const next = await linked()
    expect(next.lines).toEqual(['WELCOME @1 0', 'WRITE @1'])
    await result(old, [[1, 'REJECTED', 'late']])
    expect(asked.outcome).toBeUndefined()
    await result(next, [[1, 'OK']])
    expect(asked.outcome).toBe('1 OK')
    expect([writesOf(old), writesOf(next)]).toEqual([['w1'], ['w1']])
  })

  test('twice', async () => {
    const link = await linked()
    const asked = await ask()
    await result(link, [[1, 'OK']])
    await result(link, [[1, 'REJECTED']])
    expect(asked.outcome).toBe('1 OK')
    expect(room.links.writes.counts.answered).toBe(1)
  })

  test('after the time is over, unless it is asked again', async () => {
    const link = await linked()
    const asked = await ask()
    await room.world.advance(writeTimeoutMs - 1)
    expect(asked.outcome).toBeUndefined()
    await room.world.advance(1)
    expect(asked.outcome).toBe('device_timeout')
    expect(room.links.writes.counts).toEqual({ sent: 1, answered: 0, timedOut: 1 })
    await result(link, [[1, 'OK']])
    const again = await ask({ isRepeated: true })
    expect(writesOf(link)).toEqual(['w1', 'w1'])
    await result(link, [[1, 'OK']])
    expect([asked.outcome, again.outcome]).toEqual(['device_timeout', '1 OK'])
  })
})

describe('the time of each', () => {
  test('begins when it is asked, and an answer of a part does not stop it', async () => {
    const link = await linked()
    const first = await ask({ values: { '1': 5, '2': 'x' } })
    await room.world.advance(4_000)
    const second = await ask({ id: 'w2' })
    await result(link, [[1, 'OK']])
    await room.world.advance(6_000)
    expect([first.outcome, second.outcome]).toEqual(['device_timeout', undefined])
    await room.world.advance(4_000)
    expect(second.outcome).toBe('device_timeout')
    expect([room.links.writes.openCount, room.links.writes.counts.timedOut]).toEqual([0, 2])
  })
})

describe('without a link', () => {
  test('a device that was never linked, or left, is offline', async () => {
    await room.made('A')
    room.stage.ask(deviceAddress('default', 'A'), { type: 'post', session: undefined, updates: [] })
    const link = await linked('A')
    link.say({ type: 'BYE', flakeAddress: 1 })
    await room.settle()
    expect((await ask()).outcome).toBe('device_offline')
    link.hello('A')
    await room.settle()
    link.close()
    // At once, though its status is not told yet.
    expect((await ask()).outcome).toBe('device_offline')
    expect(room.links.writes.counts.sent).toBe(0)
  })

  test('an idle device is asked', async () => {
    const link = await linked()
    link.isAnswering = false
    await room.world.advance(2 * pingEveryMs + 2_000)
    expect(room.device('A').status).toBe('idle')
    const asked = await ask()
    await result(link, [[1, 'OK']])
    expect(asked.outcome).toBe('1 OK')
  })

  test('one that is being closed speaks for nobody', async () => {
    const link = await linked()
    for (let count = 0; count < 10; count++) link.update(1, count + 1, 'bad')
    const asked = new Asked()
    await room.settle()
    expect([asked.outcome, writesOf(link)]).toEqual(['device_offline', []])
  })

  test('what is asked again waits for the device to come, and is the same', async () => {
    const link = await linked()
    link.close()
    const asked = await ask({ isRepeated: true })
    expect(asked.outcome).toBeUndefined()
    const back = await linked()
    expect(back.lines).toEqual(['WELCOME @1 0', 'WRITE @1'])
    await result(back, [[1, 'OK']])
    expect(asked.outcome).toBe('1 OK')
  })

  test('what is asked again and not waited for is sent now or never', async () => {
    const link = await linked()
    link.close()
    expect((await ask({ isRepeated: true, isWaiting: false })).outcome).toBe('device_offline')
    const back = await linked()
    expect((await ask({ isRepeated: true, isWaiting: false })).outcome).toBe('1 SENT')
    expect(writesOf(back)).toEqual(['w1'])
  })

  test('a device answers what it did before it hears that again', async () => {
    const link = await linked()
    link.close()
    const asked = await ask({ isRepeated: true })
    const back = room.connect()
    back.hello('A')
    await result(back, [[1, 'OK']])
    expect(asked.outcome).toBe('1 OK')
    expect(writesOf(back)).toEqual([])
  })
})

describe('a link that breaks', () => {
  test('and is back in time: the device hears its writes again, in their order, behind its WELCOME', async () => {
    const link = await linked()
    const asked = [await ask({ id: 'w1' }), await ask({ id: 'w2' }), await ask({ id: 'w3' })]
    await result(link, [[1, 'OK']], 'w2')
    link.close()
    await room.world.advance(5_000)
    const back = await linked()
    expect(back.lines).toEqual(['WELCOME @1 0', 'WRITE @1', 'WRITE @1'])
    expect(writesOf(back)).toEqual(['w1', 'w3'])
    await result(back, [[1, 'OK']], 'w3')
    await result(back, [[1, 'OK']], 'w1')
    expect(asked.map(({ outcome }) => outcome)).toEqual(['1 OK', '1 OK', '1 OK'])
  })

  test('and is back too late: nothing is said again', async () => {
    const link = await linked()
    const asked = await ask()
    link.close()
    await room.world.advance(writeTimeoutMs)
    expect(asked.outcome).toBe('device_timeout')
    expect(writesOf(await linked())).toEqual([])
  })

  test('what was answered in part goes on with the rest', async () => {
    const link = await linked()
    const asked = await ask({ values: { '1': 5, '2': 'x' } })
    await result(link, [[1, 'OK']])
    link.close()
    const back = await linked()
    await result(back, [[2, 'OK']])
    expect(asked.outcome).toBe('1 OK, 2 OK')
  })

  test('a HELLO again on the same link is a new generation, and hears them too', async () => {
    const link = await linked()
    const asked = await ask()
    link.hello('A')
    await room.settle()
    expect(link.lines).toEqual(['WELCOME @1 0', 'WRITE @1', 'WELCOME @1 0', 'WRITE @1'])
    await result(link, [[1, 'OK']])
    expect(asked.outcome).toBe('1 OK')
  })

  test('after BYE: it is waited for', async () => {
    const link = await linked()
    const asked = await ask()
    link.say({ type: 'BYE', flakeAddress: 1 })
    await result(link, [[1, 'OK']])
    expect(asked.outcome).toBeUndefined()
    link.hello('A')
    await room.settle()
    await result(link, [[1, 'OK']])
    expect(asked.outcome).toBe('1 OK')
  })

  test('no WRITE comes before the WELCOME that says by which address', async () => {
    const old = await linked()
    old.update(1, 1)
    const asked = [new Asked(), new Asked({ id: 'w2', isWaiting: false })]
    const next = room.connect()
    next.hello('A')
    await room.settle()
    expect(next.lines).toEqual(['WELCOME @1 1', 'WRITE @1', 'WRITE @1'])
    expect(writesOf(old)).toEqual([])
    expect(asked.map(({ outcome }) => outcome)).toEqual([undefined, '1 SENT'])
  })
})

describe('a device that is removed', () => {
  test('ends its writes with 404, and no one else’s', async () => {
    await linked('A')
    const other = await linked('B')
    const asked = [await ask(), await ask({ device: 'B' })]
    // Of another address, made since.
    room.links.removed('default', 'A', 2)
    await room.settle()
    expect(asked[0]?.outcome).toBeUndefined()
    room.links.removed('default', 'A', 1)
    await room.settle()
    await result(other, [[1, 'OK']], 'w1', 2)
    expect(asked.map(({ outcome }) => outcome)).toEqual(['not_found', '1 OK'])
  })

  test('and made anew under the same name hears none of the old one', async () => {
    const link = await linked('A')
    const asked = await ask()
    link.close()
    room.stage.ask(deviceAddress('default', 'A'), { type: 'remove' })
    const next = await linked('A')
    expect(next.lines).toEqual(['WELCOME @2 0'])
    await result(next, [[1, 'OK']], 'w1', 2)
    expect(asked.outcome).toBeUndefined()
    room.links.removed('default', 'A', 1)
    await room.settle()
    expect(asked.outcome).toBe('not_found')
    expect(room.links.statusOf('default', 'A')).toBe('online')
  })
})

describe('limits', () => {
  test('thirty-two open writes of one user for a device leave room for other users', async () => {
    await linked('A')
    for (let count = 0; count < openWritesOfUserMax; count++) new Asked({ id: `a${count}`, user: 'mallory' })
    await room.settle()
    expect((await ask({ id: 'one more', user: 'mallory' })).outcome).toBe('too_many_requests')
    expect((await ask({ id: 'another', user: 'ann' })).outcome).toBeUndefined()
  })

  test('sixty-four open writes a device, and ten thousand in all', async () => {
    const link = await linked('A')
    for (let count = 0; count < openWritesOfDeviceMax; count++) new Asked({ id: `a${count}` })
    await room.settle()
    const refused = await ask({ id: 'one more' })
    expect([refused.outcome, writesOf(link).length]).toEqual(['overloaded', openWritesOfDeviceMax])
    await linked('B')
    expect((await ask({ device: 'B' })).outcome).toBeUndefined()
    await result(link, [[1, 'OK']], 'a7')
    expect((await ask({ id: 'one more' })).outcome).toBeUndefined()

    const gateway = room.connect()
    const devices = Math.ceil(openWritesMax / openWritesOfDeviceMax)
    for (let device = 0; device < devices; device++) gateway.hello(`D${device}`)
    await room.settle()
    const left = openWritesMax - room.links.writes.openCount
    for (let count = 0; count < left; count++) {
      new Asked({ device: `D${count % devices}`, id: `d${count}` })
    }
    await room.settle()
    expect(room.links.writes.openCount).toBe(openWritesMax)
    expect((await ask({ device: 'B', id: 'w2' })).outcome).toBe('overloaded')
    await room.world.advance(writeTimeoutMs)
    expect(room.links.writes.openCount).toBe(0)
    expect((await ask({ device: 'B', id: 'w2' })).outcome).toBeUndefined()
  })

  test('a link that does not read is asked nothing more', async () => {
    const link = await linked()
    link.buffered = 512 * 1024
    const asked = await ask()
    link.buffered++
    expect((await ask({ id: 'w2' })).outcome).toBe('overloaded')
    expect((await ask({ id: 'w2', isWaiting: false })).outcome).toBe('overloaded')
    expect([writesOf(link), asked.outcome]).toEqual([['w1'], undefined])
  })

  test('of open writes a returning device hears as many as its link takes, and the rest when there is room', async () => {
    const link = await linked()
    for (const id of ['w1', 'w2', 'w3']) await ask({ id })
    link.close()
    const back = room.connect()
    back.buffered = 512 * 1024
    const { send } = back
    back.send = (frame) => {
      if (String(frame).includes('WRITE')) back.buffered += 100
      return send.call(back, frame)
    }
    back.hello('A')
    await room.settle()
    expect(writesOf(back)).toEqual(['w1'])
    // Of a link that others wait on as well.
    room.links.drained(back)
    expect(writesOf(back)).toEqual(['w1'])
    back.buffered = 0
    room.links.drained(back)
    expect(writesOf(back)).toEqual(['w1', 'w2', 'w3'])
    room.links.drained(back)
    expect(writesOf(back)).toHaveLength(3)
  })

  test('what would not fit a link is refused', async () => {
    const properties = Array.from({ length: 9 }, (_, index) => ({ propId: index, type: 'STRING' }))
    const link = await linked('A', { services: [{ serviceIdentifier: 'svc', properties }] })
    const values = Object.fromEntries(properties.map(({ propId }) => [propId, 'x'.repeat(65_536)]))
    expect((await ask({ values })).outcome).toBe('too_large')
    expect(writesOf(link)).toEqual([])
  })
})

describe('a server that stops', () => {
  test('answers who waits at once, and asks nothing more', async () => {
    const link = await linked()
    const asked = await ask()
    const late = new Asked({ id: 'w2' })
    room.links.stop()
    await room.settle()
    expect([asked.outcome, late.outcome]).toEqual(['device_timeout', 'stopping'])
    expect(writesOf(link)).toEqual(['w1'])
    await result(link, [[1, 'OK']])
    expect([asked.outcome, room.links.writes.openCount]).toEqual(['device_timeout', 0])
  })
})

test('links that end because nothing can be stored leave writes waiting for the device', async () => {
  const link = await linked()
  const asked = await ask()
  room.links.storageFailed()
  await room.settle()
  expect([link.closedWith, asked.outcome]).toEqual([1013, undefined])
  const back = await linked()
  await result(back, [[1, 'OK']])
  expect(asked.outcome).toBe('1 OK')
})
