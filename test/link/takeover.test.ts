import { beforeEach, describe, expect, test } from 'vitest'
import { deadAfterMs, pingEveryMs } from '#runtime/liveness'
import { LinkFixture } from '#test/link/link-fixture'

let setup: LinkFixture

beforeEach(async () => {
  setup = await LinkFixture.open()
})

const tryLater = 1013

describe('a HELLO on another connection', () => {
  test('takes over, the old connection gets REPLACED, and the status does not change', async () => {
    const old = await setup.connected()
    old.update(1, 1)
    await setup.settle()
    const next = await setup.connected()
    expect(old.lines.slice(1)).toEqual(['A @1 1', 'ERROR REPLACED @1'])
    expect(next.lines).toEqual(['WELCOME @1 1'])
    old.close()
    await setup.world.advance(5_000)
    expect(setup.statuses).toEqual(['A online'])
    expect(setup.device('A').numConnects).toBe(2)
    expect(setup.links.statusOf('default', 'A')).toBe('online')
  })

  test('makes the server ignore frames of the old connection', async () => {
    const old = await setup.connected()
    const next = await setup.connected()
    old.update(1, 1, 11)
    old.transmit({ type: 'BYE', flakeAddress: 1 })
    next.update(1, 1, 22)
    await setup.settle()
    expect(setup.device('A').services[0]?.stateOf(0)).toBe(22)
    expect(setup.statuses).toEqual(['A online'])
    expect(next.shortAcks).toEqual([[1, 1]])
    expect(old.shortAcks).toEqual([])
  })

  test('is answered after earlier frames of the old connection are stored and acknowledged there', async () => {
    const old = await setup.connected()
    const next = setup.connect()
    old.update(1, 1)
    old.update(1, 2)
    next.hello('A')
    await setup.settle()
    expect(old.lines.slice(1)).toEqual(['A @1 2', 'ERROR REPLACED @1'])
    expect(next.lines).toEqual(['WELCOME @1 2'])
  })

  test('keeps the other devices of the old connection', async () => {
    const gateway = setup.connect()
    gateway.hello('A')
    gateway.hello('B')
    await setup.settle()
    await setup.connected('A')
    gateway.update(2, 1)
    await setup.settle()
    expect(gateway.shortAcks).toEqual([[2, 1]])
    gateway.close()
    await setup.settle()
    expect([setup.device('A').status, setup.device('B').status]).toEqual(['online', 'offline'])
  })

  test('may return to the old connection', async () => {
    const one = await setup.connected()
    const other = await setup.connected()
    one.hello('A')
    await setup.settle()
    one.update(1, 1)
    await setup.settle()
    expect(one.lines.slice(1)).toEqual(['ERROR REPLACED @1', 'WELCOME @1 0', 'A @1 1'])
    expect(other.lines.at(-1)).toBe('ERROR REPLACED @1')
  })

  test('is refused with FLAPPING after ten takeovers in a minute, and the old connection stays', async () => {
    const links = [await setup.connected()]
    for (let count = 0; count < 10; count++) links.push(await setup.connected())
    expect(links.at(-1)?.lines).toEqual(['WELCOME @1 0'])
    const refused = await setup.connected()
    expect(refused.lines).toEqual(['ERROR FLAPPING'])
    expect(refused.closedWith).toBeUndefined()
    links.at(-1)?.update(1, 1)
    await setup.settle()
    expect(links.at(-1)?.shortAcks).toEqual([[1, 1]])
    await setup.world.advance(61_000)
    expect((await setup.connected()).lines).toEqual(['WELCOME @1 1'])
  })

  test('on the same connection is not a takeover', async () => {
    const link = await setup.connected()
    for (let count = 0; count < 30; count++) link.hello('A')
    await setup.settle()
    expect(link.received.filter(({ type }) => type === 'ERROR')).toEqual([])
    expect(setup.device('A').numConnects).toBe(1)
  })
})

describe('the status of a device', () => {
  test('is offline after BYE, and other devices of the connection stay online', async () => {
    const link = setup.connect()
    link.hello('A')
    link.hello('B')
    await setup.settle()
    link.transmit({ type: 'BYE', flakeAddress: 1 })
    link.update(1, 1)
    await setup.settle()
    expect([setup.device('A').status, setup.device('B').status]).toEqual(['offline', 'online'])
    expect(link.received.at(-1)).toMatchObject({ type: 'ERROR', code: 'UNKNOWN_DEVICE' })
  })

  test('is idle while a ping is unanswered, and online with the next sign of life', async () => {
    const link = await setup.connected()
    link.isAnswering = false
    await setup.world.advance(2 * pingEveryMs + 2_000)
    expect(setup.device('A').status).toBe('idle')
    link.update(1, 1)
    await setup.settle()
    expect(setup.statuses).toEqual(['A online', 'A idle', 'A online'])
  })

  test('is offline when its connection is dead, which is closed with 4408', async () => {
    const link = await setup.connected()
    link.isAnswering = false
    await setup.world.advance(deadAfterMs + pingEveryMs)
    expect(link.closedWith).toBe(4408)
    expect(setup.statuses).toEqual(['A online', 'A idle', 'A offline'])
  })

  test('is offline when the connection breaks, unless the device returns before the change is published', async () => {
    const link = await setup.connected()
    link.close()
    const next = await setup.connected()
    expect(setup.statuses).toEqual(['A online'])
    next.close()
    await setup.settle()
    expect(setup.statuses).toEqual(['A online', 'A offline'])
  })

  test('keeps its recorded value when the server stops', async () => {
    const link = await setup.connected()
    setup.links.stop()
    link.close(1012)
    await setup.settle()
    expect(setup.device('A').status).toBe('online')
  })
})

test('the connection of a removed device gets UNKNOWN_DEVICE, also for later frames', async () => {
  const link = await setup.connected()
  // A device with another address, which was created since, stays.
  setup.links.removed('default', 'A', 2)
  expect(setup.links.statusOf('default', 'A')).toBe('online')
  setup.links.removed('default', 'A', 1)
  link.update(1, 1)
  await setup.settle()
  expect(link.lines.slice(1)).toEqual(['ERROR UNKNOWN_DEVICE @1', 'ERROR UNKNOWN_DEVICE @1 1'])
  expect(setup.links.statusOf('default', 'A')).toBe('offline')
  setup.links.removed('default', 'A', 1)
  // The frames of a whole window may still arrive: they do not close the connection.
  for (let seq = 2; seq < 20; seq++) link.update(1, seq)
  await setup.settle()
  expect(link.lines.at(-1)).toBe('ERROR UNKNOWN_DEVICE @1 19')
})

test('a closing connection accepts and sends no frames', async () => {
  const link = await setup.connected()
  for (let count = 0; count < 10; count++) link.update(1, count + 1, 'bad')
  link.update(1, 11)
  await setup.settle()
  expect(link.closedWith).toBe(4400)
  const count = link.received.length
  link.update(1, 12)
  setup.links.credentialsChanged('default', 'A')
  await setup.settle()
  expect(link.received).toHaveLength(count)
  expect(link.closedWith).not.toBe(tryLater)
})
