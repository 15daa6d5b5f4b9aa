import { beforeEach, describe, expect, test } from 'vitest'
import { deadAfterMs, pingEveryMs } from '#runtime/liveness'
import { LinkStage, type TestLink } from '#test/link/link-stage'

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

/** What dashboards heard of a device's status, in order. */
function statuses(device = 'A'): string[] {
  return room.stage.events.flatMap(({ event }) =>
    event.kind === 'status_changed' && event.device === device ? [event.status] : [],
  )
}

const tryLater = 1013

describe('a HELLO on another link', () => {
  test('wins; the old one hears REPLACED, and no status flickers', async () => {
    const old = await linked()
    old.update(1, 1)
    await room.settle()
    const next = await linked()
    expect(old.lines.slice(1)).toEqual(['A @1 1', 'ERROR REPLACED @1'])
    expect(next.lines).toEqual(['WELCOME @1 1'])
    old.close()
    await room.world.advance(5_000)
    expect(statuses()).toEqual(['online'])
    expect(room.device('A').numConnects).toBe(2)
    expect(room.links.statusOf('default', 'A')).toBe('online')
  })

  test('makes frames of the older generation mean nothing', async () => {
    const old = await linked()
    const next = await linked()
    old.update(1, 1, 11)
    old.say({ type: 'BYE', flakeAddress: 1 })
    next.update(1, 1, 22)
    await room.settle()
    expect(room.device('A').services[0]?.stateOf(0)).toBe(22)
    expect(statuses()).toEqual(['online'])
    expect(next.shortAcks).toEqual([[1, 1]])
    expect(old.shortAcks).toEqual([])
  })

  test('comes after what the old one said before it: that is stored, acknowledged there and known here', async () => {
    const old = await linked()
    const next = room.connect()
    old.update(1, 1)
    old.update(1, 2)
    next.hello('A')
    await room.settle()
    expect(old.lines.slice(1)).toEqual(['A @1 2', 'ERROR REPLACED @1'])
    expect(next.lines).toEqual(['WELCOME @1 2'])
  })

  test('leaves the other devices of the old link where they are', async () => {
    const gateway = room.connect()
    gateway.hello('A')
    gateway.hello('B')
    await room.settle()
    await linked('A')
    gateway.update(2, 1)
    await room.settle()
    expect(gateway.shortAcks).toEqual([[2, 1]])
    gateway.close()
    await room.settle()
    expect([room.device('A').status, room.device('B').status]).toEqual(['online', 'offline'])
  })

  test('may come back to the old link', async () => {
    const one = await linked()
    const other = await linked()
    one.hello('A')
    await room.settle()
    one.update(1, 1)
    await room.settle()
    expect(one.lines.slice(1)).toEqual(['ERROR REPLACED @1', 'WELCOME @1 0', 'A @1 1'])
    expect(other.lines.at(-1)).toBe('ERROR REPLACED @1')
  })

  test('more than ten times a minute is FLAPPING: the newcomer is refused, the old one stays', async () => {
    const links = [await linked()]
    for (let count = 0; count < 10; count++) links.push(await linked())
    expect(links.at(-1)?.lines).toEqual(['WELCOME @1 0'])
    const refused = await linked()
    expect(refused.lines).toEqual(['ERROR FLAPPING'])
    expect(refused.closedWith).toBeUndefined()
    links.at(-1)?.update(1, 1)
    await room.settle()
    expect(links.at(-1)?.shortAcks).toEqual([[1, 1]])
    await room.world.advance(61_000)
    expect((await linked()).lines).toEqual(['WELCOME @1 1'])
  })

  test('a HELLO again on the same link is no take-over, however often', async () => {
    const link = await linked()
    for (let count = 0; count < 30; count++) link.hello('A')
    await room.settle()
    expect(link.heard.filter(({ type }) => type === 'ERROR')).toEqual([])
    expect(room.device('A').numConnects).toBe(1)
  })
})

describe('the status of a device', () => {
  test('is offline after BYE, and others on the link stay', async () => {
    const link = room.connect()
    link.hello('A')
    link.hello('B')
    await room.settle()
    link.say({ type: 'BYE', flakeAddress: 1 })
    link.update(1, 1)
    await room.settle()
    expect([room.device('A').status, room.device('B').status]).toEqual(['offline', 'online'])
    expect(link.heard.at(-1)).toMatchObject({ type: 'ERROR', code: 'UNKNOWN_DEVICE' })
  })

  test('is idle while a ping is unanswered, and online with the next sign of life', async () => {
    const link = await linked()
    link.isAnswering = false
    await room.world.advance(2 * pingEveryMs + 2_000)
    expect(room.device('A').status).toBe('idle')
    link.update(1, 1)
    await room.settle()
    expect(statuses()).toEqual(['online', 'idle', 'online'])
  })

  test('is offline when its link is dead, and the link is closed with 4408', async () => {
    const link = await linked()
    link.isAnswering = false
    await room.world.advance(deadAfterMs + pingEveryMs)
    expect(link.closedWith).toBe(4408)
    expect(statuses()).toEqual(['online', 'idle', 'offline'])
  })

  test('is offline when the link breaks, but not when it is back before that was said', async () => {
    const link = await linked()
    link.close()
    const next = room.connect()
    next.hello('A')
    await room.settle()
    expect(statuses()).toEqual(['online'])
    next.close()
    await room.settle()
    expect(statuses()).toEqual(['online', 'offline'])
  })

  test('stands as it was recorded when the server stops', async () => {
    const link = await linked()
    room.links.stop()
    link.close(1012)
    await room.settle()
    expect(room.device('A').status).toBe('online')
  })

  test('of a gateway of thousands changes a few at a time', async () => {
    const gateway = room.connect()
    for (let index = 0; index < 3_000; index++) gateway.hello(`D${index}`)
    await room.settle()
    const head = room.stage.system.registry.head('default')
    const { monotonic } = room.world
    // Every look at the clock takes some of it.
    room.world.monotonic = () => {
      room.world.spend(0.2)
      return monotonic.call(room.world)
    }
    gateway.close()
    for (let task = 0; task < 100; task++) {
      const { taken } = head
      room.world.step()
      expect(head.taken - taken).toBeLessThan(20)
    }
    await room.settle()
    expect(room.device('D2999').status).toBe('offline')
  })
})

test('a device that is removed: its link is told, and its frames mean nothing', async () => {
  const link = await linked()
  // Of another address, made since: it stays.
  room.links.removed('default', 'A', 2)
  expect(room.links.statusOf('default', 'A')).toBe('online')
  room.links.removed('default', 'A', 1)
  link.update(1, 1)
  await room.settle()
  expect(link.lines.slice(1)).toEqual(['ERROR UNKNOWN_DEVICE @1', 'ERROR UNKNOWN_DEVICE @1 1'])
  expect(room.links.statusOf('default', 'A')).toBe('offline')
  room.links.removed('default', 'A', 1)
  // It may still have a window full of frames under way: they cost the link nothing.
  for (let seq = 2; seq < 20; seq++) link.update(1, seq)
  await room.settle()
  expect(link.lines.at(-1)).toBe('ERROR UNKNOWN_DEVICE @1 19')
})

test('a device whose actor was forgotten meanwhile goes on', async () => {
  const link = await linked()
  link.update(1, 1)
  await room.settle()
  for (let minute = 0; minute < 7; minute++) await room.world.advance(60_000)
  link.update(1, 2)
  await room.settle()
  expect(link.shortAcks).toEqual([
    [1, 1],
    [1, 2],
  ])
  expect(room.device('A').seq).toBe(2)
})

test('nothing is taken from a link that is being closed, nor said to it', async () => {
  const link = await linked()
  for (let count = 0; count < 10; count++) link.update(1, count + 1, 'bad')
  link.update(1, 11)
  await room.settle()
  expect(link.closedWith).toBe(4400)
  const heard = link.heard.length
  link.update(1, 12)
  room.links.credentialsChanged('default', 'A')
  await room.settle()
  expect(link.heard).toHaveLength(heard)
  expect(link.closedWith).not.toBe(tryLater)
})
