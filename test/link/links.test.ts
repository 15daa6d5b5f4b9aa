import { beforeEach, describe, expect, test } from 'vitest'
import { linkWindowMessages } from '#model/link-message'
import { LinkFixture } from '#test/link/link-fixture'

let setup: LinkFixture

beforeEach(async () => {
  setup = await LinkFixture.open()
})

test('HELLO of an unknown device creates it, and WELCOME follows the commit', async () => {
  const link = setup.connect()
  link.hello('a-1')
  expect(link.received).toEqual([])
  await setup.settle()
  expect(link.received).toEqual([
    {
      type: 'WELCOME',
      flakeAddress: 1,
      deviceIdentifier: 'A-1',
      seq: 0,
      window: 1_024,
      timestamp: setup.world.now(),
    },
  ])
  expect(setup.device('A-1')).toMatchObject({ exists: true, status: 'online', numConnects: 1 })
  expect(setup.links.deviceCount).toBe(1)
})

describe('UPDATE', () => {
  test('is acknowledged after the commit, many with one ACK, in the form of the UPDATE', async () => {
    const link = await setup.connected()
    for (let seq = 1; seq <= 10; seq++) link.update(1, seq)
    expect(link.received).toHaveLength(1)
    await setup.settle()
    expect(link.shortAcks).toEqual([[1, 10]])
    link.transmit({
      type: 'UPDATE',
      flakeAddress: 1,
      seq: 11,
      serviceIdentifier: 'svc',
      updates: [{ propId: 1, value: 11 }],
    })
    await setup.settle()
    expect(link.received.at(-1)).toEqual({ type: 'ACK', flakeAddress: 1, seq: 11 })
  })

  test('that is repeated is acknowledged and not applied again', async () => {
    const link = await setup.connected()
    for (const [seq, value] of [
      [1, 10],
      [2, 20],
      [1, 30],
      [2, 40],
      [3, 50],
    ] as const)
      link.update(1, seq, value)
    await setup.settle()
    const reports = setup.runtime.events.flatMap(({ event }) => (event.kind === 'reported' ? [event.seq] : []))
    expect(reports).toEqual([1, 2, 3])
    expect(setup.device('A').services[0]?.stateOf(0)).toBe(50)
    expect(link.shortAcks.at(-1)).toEqual([1, 3])
  })

  test('that is repeated is not acknowledged before the first UPDATE is stored', async () => {
    const link = await setup.connected()
    link.update(1, 1)
    link.update(1, 1)
    expect(link.shortAcks).toEqual([])
    await setup.settle()
    expect(link.shortAcks).toEqual([[1, 1]])
  })

  test('with a gap is accepted and logged once', async () => {
    const link = await setup.connected()
    for (const seq of [1, 2, 5, 6]) link.update(1, seq)
    await setup.settle()
    expect(link.shortAcks).toEqual([[1, 6]])
    expect(setup.gaps).toEqual(['A 2 5'])
  })

  test('of a device without HELLO on this connection is refused', async () => {
    const link = await setup.connected()
    link.update(77, 1)
    await setup.settle()
    expect(link.received.at(-1)).toMatchObject({ type: 'ERROR', code: 'UNKNOWN_DEVICE', flakeAddress: 77, seq: 1 })
  })

  test.each([
    ['service index', ['U', 1, 4, 3, [1, 1]], 'UNKNOWN_SERVICE'],
    [
      'service name',
      { type: 'UPDATE', flakeAddress: 1, seq: 4, serviceIdentifier: 'x', updates: [{ propId: 1, value: 1 }] },
      'UNKNOWN_SERVICE',
    ],
    ['property', ['U', 1, 4, 0, [9, 1]], 'UNKNOWN_PROPERTY'],
    ['value', ['U', 1, 4, 0, [1, 'x']], 'BAD_VALUE'],
    ['list of pairs', ['U', 1, 4, 0, [1]], 'BAD_MESSAGE'],
  ])('with a wrong %s does not affect others', async (_, frame, code) => {
    const link = await setup.connected()
    link.update(1, 3)
    link.transmit(frame)
    link.update(1, 5)
    await setup.settle()
    const errors = link.received.filter(({ type }) => type === 'ERROR')
    expect(errors).toMatchObject([{ code, flakeAddress: 1, seq: 4 }])
    expect(link.shortAcks.at(-1)).toEqual([1, 5])
    expect(link.closedWith).toBeUndefined()
  })

  test('is answered in the order of the frames', async () => {
    const link = await setup.connected()
    link.update(1, 1)
    link.update(1, 2, 'bad')
    link.update(1, 3)
    link.update(1, 4, 'bad')
    await setup.settle()
    expect(link.lines.slice(1)).toEqual(['A @1 1', 'ERROR BAD_VALUE @1 2', 'A @1 3', 'ERROR BAD_VALUE @1 4'])
  })

  test('may write a UUID service in upper or lower case', async () => {
    const serviceIdentifier = '0B9F3C1E-8C7A-4A51-9D0E-2F1B5A6C7D8E'
    const link = await setup.connected('A', {
      services: [{ serviceIdentifier, properties: [{ propId: 1, type: 'UINT8' }] }],
    })
    for (const [index, name] of [serviceIdentifier, serviceIdentifier.toLowerCase()].entries()) {
      link.transmit({
        type: 'UPDATE',
        flakeAddress: 1,
        seq: index + 1,
        serviceIdentifier: name,
        updates: [{ propId: 1, value: 5 }],
      })
    }
    await setup.settle()
    expect(link.lines.slice(1)).toEqual(['ACK @1 2'])
  })
})

describe('refused frames', () => {
  test('close the connection after ten in a row; a good frame resets the count', async () => {
    const link = await setup.connected()
    for (let round = 0; round < 9; round++) link.update(1, round + 1, 'bad')
    link.update(1, 10)
    for (let round = 0; round < 9; round++) link.update(1, round + 11, 'bad')
    await setup.settle()
    expect(link.closedWith).toBeUndefined()
    link.update(1, 30, 'bad')
    await setup.settle()
    expect(link.closedWith).toBe(4400)
    expect(link.received.filter(({ type }) => type === 'ERROR')).toHaveLength(19)
  })

  test.each([
    ['invalid JSON', Buffer.from('{'), false],
    ['a binary frame on a JSON connection', Buffer.from('{}'), true],
    ['an unknown type', Buffer.from('{"type":"X"}'), false],
    ['a list that is not an UPDATE', Buffer.from('["X"]'), false],
    ['a number', Buffer.from('5'), false],
  ])('get BAD_MESSAGE for %s', async (_, data, isBinary) => {
    const link = setup.connect()
    link.raw(data, isBinary)
    await setup.settle()
    expect(link.lines).toEqual(['ERROR BAD_MESSAGE'])
  })
})

describe('the window', () => {
  test('is limited, and one more message closes the connection with 1013', async () => {
    const link = await setup.connected()
    for (let seq = 1; seq <= linkWindowMessages; seq++) link.update(1, seq)
    expect(link.closedWith).toBeUndefined()
    link.update(1, linkWindowMessages + 1)
    await setup.settle()
    expect(link.received.at(-1)).toMatchObject({ type: 'ERROR', code: 'OVERLOADED' })
    expect(link.closedWith).toBe(1013)
  })

  test('is freed by every answer, errors included', async () => {
    const link = await setup.connected()
    for (let round = 0; round < 5; round++) {
      for (let count = 0; count < linkWindowMessages; count++) {
        const seq = round * linkWindowMessages + count + 1
        if (count % 100 === 99) link.update(1, seq, 'bad')
        else if (count % 100 === 50) link.update(1, 1)
        else if (count % 1_000 === 7) link.update(99, seq)
        else link.update(1, seq)
      }
      await setup.settle()
    }
    expect(link.closedWith).toBeUndefined()
    expect(link.shortAcks.at(-1)).toEqual([1, 5 * linkWindowMessages])
  })

  test('is not used by frames of a device that moved to another connection', async () => {
    const old = await setup.connected('A')
    await setup.connected()
    for (let count = 0; count < 3 * linkWindowMessages; count++) {
      old.update(1, count + 1)
      if (count % 500 === 0) await setup.settle()
    }
    expect(old.closedWith).toBeUndefined()
    expect(old.lines.slice(1)).toEqual(['ERROR REPLACED @1'])
  })
})

describe('while the store is read-only', () => {
  test('every connection gets an error and is closed, and unstored updates are not acknowledged', async () => {
    const { backend } = setup.runtime
    const [link, idle] = [await setup.connected('A'), await setup.connected('B')]
    link.update(1, 1)
    await setup.settle()
    setup.faults.next = { fail: 'full', reachedDisk: false }
    backend.setRoom(false)
    link.update(1, 2)
    await setup.settle()
    expect(link.lines.slice(1)).toEqual(['A @1 1', 'ERROR STORAGE @1 2'])
    expect([link.closedWith, idle.closedWith]).toEqual([1013, 1013])
    const again = await setup.connected()
    expect([again.lines, again.closedWith]).toEqual([['ERROR STORAGE'], 1013])
    backend.setRoom(true)
    await setup.world.advance(2_000)
    const back = await setup.connected()
    expect(back.lines).toEqual(['WELCOME @1 1'])
    back.update(1, 2)
    await setup.settle()
    expect(back.shortAcks).toEqual([[1, 2]])
  })

  test('the connections of a node of a cluster are closed with 1012', async () => {
    setup = await LinkFixture.open({ hasOtherNodes: true })
    const [link, idle] = [await setup.connected('A'), await setup.connected('B')]
    setup.faults.next = { fail: 'full', reachedDisk: false }
    link.update(1, 1)
    await setup.settle()
    expect([link.closedWith, idle.closedWith]).toEqual([1012, 1012])
  })

  test('too many waiting bytes close the connection with 1013', async () => {
    setup = await LinkFixture.open({ uncommittedBytesMax: 2_000 })
    const link = await setup.connected()
    for (let seq = 1; seq <= 30; seq++) link.update(1, seq)
    await setup.settle()
    expect(link.received.at(-1)).toMatchObject({ type: 'ERROR', code: 'OVERLOADED' })
    expect(link.closedWith).toBe(1013)
    const stored = setup.device('A').seq
    expect(stored).toBeGreaterThan(0)
    const again = await setup.connected()
    expect(again.lines).toEqual([`WELCOME @1 ${stored}`])
  })
})
