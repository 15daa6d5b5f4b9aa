import { beforeEach, describe, expect, test } from 'vitest'
import { linkWindowMessages } from '#model/link-message'
import { LinkStage, type TestLink } from '#test/link/link-stage'
import { ManualWorld } from '#test/runtime/manual-world'
import { faultyPlace } from '#test/runtime/stage'

let room: LinkStage

beforeEach(async () => {
  room = await LinkStage.open()
})

/** A link on which a device has said HELLO and was welcomed. */
async function linked(device = 'A', more: Parameters<TestLink['hello']>[1] = {}): Promise<TestLink> {
  const link = room.connect()
  link.hello(device, more)
  await room.settle()
  return link
}

describe('HELLO', () => {
  test('of a device that nobody knows makes it, and is welcomed when that is stored', async () => {
    const link = room.connect()
    link.hello('a-1')
    expect(link.heard).toEqual([])
    await room.settle()
    expect(link.heard).toEqual([
      {
        type: 'WELCOME',
        flakeAddress: 1,
        deviceIdentifier: 'A-1',
        seq: 0,
        window: 1_024,
        timestamp: room.world.now(),
      },
    ])
    expect(room.device('A-1')).toMatchObject({ isThere: true, status: 'online', numConnects: 1 })
    expect(room.links.deviceCount).toBe(1)
  })

  test('tells where its session stands, and 0 for another', async () => {
    const link = await linked()
    for (const seq of [1, 2, 3]) link.update(1, seq)
    link.hello('A')
    link.hello('A', { session: 'boot-2' })
    link.hello('A', { session: undefined })
    await room.settle()
    expect(link.heard.filter(({ type }) => type === 'WELCOME').map(({ seq }) => seq)).toEqual([0, 3, 0, 0])
  })

  test('of a value that its type does not take is refused, and changes nothing', async () => {
    const link = room.connect()
    const properties = [{ propId: 1, type: 'UINT8', value: 256 }]
    link.hello('A', { services: [{ serviceIdentifier: 'svc', properties }] })
    await room.settle()
    expect(link.lines).toEqual(['ERROR BAD_VALUE'])
    expect(room.device('A').isThere).toBe(false)
  })

  test('of another device than the credentials say is refused', async () => {
    await room.made('A')
    const link = room.connect({ device: 'A' })
    link.hello('B')
    await room.settle()
    expect(link.lines).toEqual(['ERROR NOT_ALLOWED'])
    link.hello('A')
    await room.settle()
    expect(link.lines).toEqual(['ERROR NOT_ALLOWED', 'WELCOME @1 0'])
  })

  test('many devices share a link', async () => {
    const link = room.connect()
    for (let index = 0; index < 20; index++) link.hello(`D${index}`)
    await room.settle()
    const welcomes = link.heard.filter(({ type }) => type === 'WELCOME')
    expect(new Set(welcomes.map(({ flakeAddress }) => flakeAddress)).size).toBe(20)
    for (const { flakeAddress } of welcomes) link.update(flakeAddress as number, 1)
    await room.settle()
    expect(link.shortAcks).toHaveLength(20)
    link.close()
    await room.settle()
    expect(Array.from({ length: 20 }, (_, index) => room.device(`D${index}`).status)).toEqual(Array(20).fill('offline'))
  })
})

describe('UPDATE', () => {
  test('is acknowledged when it is stored, many with one ACK, in the form it came', async () => {
    const link = await linked()
    for (let seq = 1; seq <= 10; seq++) link.update(1, seq)
    expect(link.heard).toHaveLength(1)
    await room.settle()
    expect(link.shortAcks).toEqual([[1, 10]])
    link.say({
      type: 'UPDATE',
      flakeAddress: 1,
      seq: 11,
      serviceIdentifier: 'svc',
      updates: [{ propId: 1, value: 11 }],
    })
    await room.settle()
    expect(link.heard.at(-1)).toEqual({ type: 'ACK', flakeAddress: 1, seq: 11 })
  })

  test('that came before is acknowledged and not applied again', async () => {
    const link = await linked()
    for (const [seq, value] of [
      [1, 10],
      [2, 20],
      [1, 30],
      [2, 40],
      [3, 50],
    ] as const)
      link.update(1, seq, value)
    await room.settle()
    const reports = room.stage.events.flatMap(({ event }) => (event.kind === 'reported' ? [event.seq] : []))
    expect(reports).toEqual([1, 2, 3])
    expect(room.device('A').services[0]?.stateOf(0)).toBe(50)
    expect(link.shortAcks.at(-1)).toEqual([1, 3])
  })

  test('that came before is not acknowledged while what it waits for is not stored', async () => {
    const link = await linked()
    link.update(1, 1)
    link.update(1, 1)
    expect(link.shortAcks).toEqual([])
    await room.settle()
    expect(link.shortAcks).toEqual([[1, 1]])
  })

  test('with a gap is taken, and said to the log once', async () => {
    const link = await linked()
    for (const seq of [1, 2, 5, 6]) link.update(1, seq)
    await room.settle()
    expect(link.shortAcks).toEqual([[1, 6]])
    expect(room.gaps).toEqual(['A 2 5'])
  })

  test('of a device that said no HELLO here is refused', async () => {
    const link = await linked()
    link.update(77, 1)
    await room.settle()
    expect(link.heard.at(-1)).toMatchObject({ type: 'ERROR', code: 'UNKNOWN_DEVICE', flakeAddress: 77, seq: 1 })
  })

  test.each([
    ['a service by its place', ['U', 1, 4, 3, [1, 1]], 'UNKNOWN_SERVICE'],
    [
      'a service by its name',
      { type: 'UPDATE', flakeAddress: 1, seq: 4, serviceIdentifier: 'x', updates: [{ propId: 1, value: 1 }] },
      'UNKNOWN_SERVICE',
    ],
    ['a property', ['U', 1, 4, 0, [9, 1]], 'UNKNOWN_PROPERTY'],
    ['a value', ['U', 1, 4, 0, [1, 'x']], 'BAD_VALUE'],
    ['a pair', ['U', 1, 4, 0, [1]], 'BAD_MESSAGE'],
  ])('that is wrong in %s costs the others nothing', async (_, frame, code) => {
    const link = await linked()
    link.update(1, 3)
    link.say(frame)
    link.update(1, 5)
    await room.settle()
    const errors = link.heard.filter(({ type }) => type === 'ERROR')
    expect(errors).toMatchObject([{ code, flakeAddress: 1, seq: 4 }])
    expect(link.shortAcks.at(-1)).toEqual([1, 5])
    expect(link.closedWith).toBeUndefined()
  })

  test('and what is said of it leave in the order of the frames', async () => {
    const link = await linked()
    link.update(1, 1)
    link.update(1, 2, 'bad')
    link.update(1, 3)
    link.update(1, 4, 'bad')
    await room.settle()
    expect(link.lines.slice(1)).toEqual(['A @1 1', 'ERROR BAD_VALUE @1 2', 'A @1 3', 'ERROR BAD_VALUE @1 4'])
  })

  test('names a service of UUID form in any case', async () => {
    const serviceIdentifier = '0B9F3C1E-8C7A-4A51-9D0E-2F1B5A6C7D8E'
    const link = await linked('A', { services: [{ serviceIdentifier, properties: [{ propId: 1, type: 'UINT8' }] }] })
    for (const [index, name] of [serviceIdentifier, serviceIdentifier.toLowerCase()].entries()) {
      link.say({
        type: 'UPDATE',
        flakeAddress: 1,
        seq: index + 1,
        serviceIdentifier: name,
        updates: [{ propId: 1, value: 5 }],
      })
    }
    await room.settle()
    expect(link.lines.slice(1)).toEqual(['ACK @1 2'])
  })
})

describe('frames that are refused for their content', () => {
  test('ten in a row close the link; a good one in between starts anew', async () => {
    const link = await linked()
    for (let round = 0; round < 9; round++) link.update(1, round + 1, 'bad')
    link.update(1, 10)
    for (let round = 0; round < 9; round++) link.update(1, round + 11, 'bad')
    await room.settle()
    expect(link.closedWith).toBeUndefined()
    link.update(1, 30, 'bad')
    await room.settle()
    expect(link.closedWith).toBe(4400)
    expect(link.heard.filter(({ type }) => type === 'ERROR')).toHaveLength(19)
  })

  test.each([
    ['what is no JSON', Buffer.from('{'), false],
    ['bytes on a link of text', Buffer.from('{}'), true],
    ['a message of no type we know', Buffer.from('{"type":"X"}'), false],
    ['a list that is no UPDATE', Buffer.from('["X"]'), false],
    ['a number', Buffer.from('5'), false],
  ])('%s is BAD_MESSAGE', async (_, data, isBinary) => {
    const link = room.connect()
    link.raw(data, isBinary)
    await room.settle()
    expect(link.lines).toEqual(['ERROR BAD_MESSAGE'])
  })

  test('in msgpack: what is no plain data', async () => {
    const link = room.connect({ protocol: 'msgpack' })
    link.raw(Uint8Array.of(0xd6, 0xff, 0, 0, 0, 0), true)
    await room.settle()
    expect(link.lines).toEqual(['ERROR BAD_MESSAGE'])
  })
})

describe('the window', () => {
  test('holds so many messages; one more closes the link, to be tried again', async () => {
    const link = await linked()
    for (let seq = 1; seq <= linkWindowMessages; seq++) link.update(1, seq)
    expect(link.closedWith).toBeUndefined()
    link.update(1, linkWindowMessages + 1)
    await room.settle()
    expect(link.heard.at(-1)).toMatchObject({ type: 'ERROR', code: 'OVERLOADED' })
    expect(link.closedWith).toBe(1013)
  })

  test('is free again with every answer, whatever it was', async () => {
    const link = await linked()
    for (let round = 0; round < 5; round++) {
      for (let count = 0; count < linkWindowMessages; count++) {
        const seq = round * linkWindowMessages + count + 1
        if (count % 100 === 99) link.update(1, seq, 'bad')
        else if (count % 100 === 50) link.update(1, 1)
        else if (count % 1_000 === 7) link.update(99, seq)
        else link.update(1, seq)
      }
      await room.settle()
    }
    expect(link.closedWith).toBeUndefined()
    expect(link.shortAcks.at(-1)).toEqual([1, 5 * linkWindowMessages])
  })

  test('of a link is not used up by frames of a device that left it', async () => {
    const old = await linked('A')
    const next = room.connect()
    next.hello('A')
    await room.settle()
    for (let count = 0; count < 3 * linkWindowMessages; count++) {
      old.update(1, count + 1)
      if (count % 500 === 0) await room.settle()
    }
    expect(old.closedWith).toBeUndefined()
    expect(old.lines.slice(1)).toEqual(['ERROR REPLACED @1'])
  })
})

describe('when the store takes no writes', () => {
  test('every link is told and closed, and nothing that was not stored is acknowledged', async () => {
    const world = new ManualWorld()
    const { place, faults } = faultyPlace(world)
    room = await LinkStage.open({ world, place })
    const [link, idle] = [await linked('A'), await linked('B')]
    link.update(1, 1)
    await room.settle()
    faults.next = { fail: 'full', reachedDisk: false }
    place.setRoom(false)
    link.update(1, 2)
    await room.settle()
    expect(link.lines.slice(1)).toEqual(['A @1 1', 'ERROR STORAGE @1 2'])
    expect([link.closedWith, idle.closedWith]).toEqual([1013, 1013])
    const again = room.connect()
    again.hello('A')
    await room.settle()
    expect([again.lines, again.closedWith]).toEqual([['ERROR STORAGE'], 1013])
    place.setRoom(true)
    await room.world.advance(2_000)
    const back = room.connect()
    back.hello('A')
    await room.settle()
    expect(back.lines).toEqual(['WELCOME @1 1'])
    back.update(1, 2)
    await room.settle()
    expect(back.shortAcks).toEqual([[1, 2]])
  })

  test('too much that waits closes the link, to be tried again', async () => {
    room = await LinkStage.open({ uncommittedBytesMax: 2_000 })
    const link = await linked()
    for (let seq = 1; seq <= 30; seq++) link.update(1, seq)
    await room.settle()
    expect(link.heard.at(-1)).toMatchObject({ type: 'ERROR', code: 'OVERLOADED' })
    expect(link.closedWith).toBe(1013)
    const stored = room.device('A').seq
    expect(stored).toBeGreaterThan(0)
    const again = room.connect()
    again.hello('A')
    await room.settle()
    expect(again.lines).toEqual([`WELCOME @1 ${stored}`])
  })
})
