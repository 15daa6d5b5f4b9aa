import { beforeEach, describe, expect, test, vi } from 'vitest'
import { LinkStage, type TestLink } from '#test/link/link-stage'

let room: LinkStage

beforeEach(async () => {
  room = await LinkStage.open()
})

const devicesMax = 2_000
const nameOf = (index: number) => `D${index}`

/** A gateway with so many devices, all welcome. */
async function gateway(count = devicesMax, first = 0): Promise<TestLink> {
  const link = room.connect()
  for (let index = first; index < first + count; index++) link.hello(nameOf(index))
  await room.settle()
  return link
}

/** What dashboards heard, `<device> <status>` in order, from now on. */
function listen(): () => string[] {
  const from = room.stage.events.length
  return () =>
    room.stage.events
      .slice(from)
      .flatMap(({ event }) => (event.kind === 'status_changed' ? [`${event.device} ${event.status}`] : []))
}

/** From now on each wish takes time, as it does where there are many. By the clock that slices go by: timestamps are whole. */
function takeTime(ms: number): void {
  const { presence, world } = room
  const change = presence.change.bind(presence)
  const monotonic = world.monotonic.bind(world)
  let spent = 0
  world.monotonic = () => monotonic() + spent
  vi.spyOn(presence, 'change').mockImplementation((...wish) => {
    spent += ms
    change(...wish)
  })
}

/** Until the link was found not to answer, and no further; how long that held the loop at most. */
function goIdle(link: TestLink): number {
  const { world } = room
  let longest = 0
  link.isAnswering = false
  while (room.links.statusOf('default', nameOf(0)) !== 'idle') {
    world.spend(1_000)
    const began = world.monotonic()
    world.fire()
    longest = Math.max(longest, world.monotonic() - began)
  }
  return longest
}

/** How long the longest task held the loop until nothing was left. */
async function longestTask(first: () => void): Promise<number> {
  const { world } = room
  let longest = 0
  const run = (task: () => boolean) => {
    const began = world.monotonic()
    const hasRun = task()
    longest = Math.max(longest, world.monotonic() - began)
    return hasRun
  }
  run(() => {
    first()
    return true
  })
  for (let quiet = 0; quiet < 3; quiet++) {
    while (run(() => world.step())) quiet = 0
    await new Promise((resolve) => setImmediate(resolve))
  }
  return longest
}

describe('the loop is held for two milliseconds at most', () => {
  test('by a link that closes', async () => {
    const link = await gateway()
    const heard = listen()
    takeTime(0.01)
    expect(await longestTask(() => link.close())).toBeLessThan(2)
    expect(heard()).toEqual(Array.from({ length: devicesMax }, (_, index) => `${nameOf(index)} offline`))
    expect(room.links.deviceCount).toBe(0)
  })

  test('by many that close together, and each of their devices goes offline', async () => {
    const links: TestLink[] = []
    for (let place = 0; place < 20; place++) links.push(await gateway(100, place * 100))
    const heard = listen()
    takeTime(0.01)
    const held = await longestTask(() => {
      for (const link of links) link.close()
    })
    expect(held).toBeLessThan(2)
    expect(heard().sort()).toEqual(Array.from({ length: 2_000 }, (_, index) => `${nameOf(index)} offline`).sort())
  })

  test('by a link that does not answer', async () => {
    const link = await gateway()
    const heard = listen()
    takeTime(0.01)
    expect(goIdle(link)).toBeLessThan(2)
    expect(await longestTask(() => {})).toBeLessThan(2)
    expect(heard()).toEqual(Array.from({ length: devicesMax }, (_, index) => `${nameOf(index)} idle`))
  })
})

describe('while the devices of a closed link are told offline', () => {
  /** In the middle of it: the first devices were gone through, the last were not. */
  async function closing(): Promise<() => string[]> {
    const link = await gateway()
    const heard = listen()
    takeTime(0.01)
    link.close()
    room.world.step()
    return heard
  }
  const [early, late] = [nameOf(0), nameOf(devicesMax - 1)]

  test('one that is back on another link stays online: the newest link wins', async () => {
    const heard = await closing()
    const next = room.connect()
    for (const device of [early, late]) next.hello(device)
    await room.settle()
    await room.world.advance(5_000)
    for (const device of [early, late]) {
      expect(room.device(device)).toMatchObject({ status: 'online', numConnects: 2 })
      expect(heard()).not.toContain(`${device} offline`)
    }
    expect(heard()).toHaveLength(devicesMax - 2)
    expect(next.lines).toEqual(['WELCOME @1 0', `WELCOME @${devicesMax} 0`])
    next.update(devicesMax, 1)
    await room.settle()
    expect(next.shortAcks).toEqual([[devicesMax, 1]])
    next.close()
    await room.settle()
    expect([early, late].map((device) => room.device(device).status)).toEqual(['offline', 'offline'])
    expect(room.links.deviceCount).toBe(0)
  })

  test('it has no link already, wherever it stands', async () => {
    await closing()
    expect([early, late].map((device) => room.links.statusOf('default', device))).toEqual(['offline', 'offline'])
  })

  test('coming back again and again is no take-over', async () => {
    await closing()
    for (let count = 0; count < 30; count++) {
      const next = room.connect()
      next.hello(late)
      await room.settle()
      expect(next.lines).toEqual([`WELCOME @${devicesMax} 0`])
      next.close()
    }
  })

  test('a server that stops says nothing more: the recorded status stands', async () => {
    const heard = await closing()
    room.links.stop()
    room.presence.close()
    await room.settle()
    expect(heard()).toEqual([])
    expect(room.device(late).status).toBe('online')
  })
})

describe('a device hears what its link is when its turn comes', () => {
  const last = nameOf(devicesMax - 1)

  test.each([
    ['that waits for its turn', 1],
    ['that waits to be told', devicesMax],
  ])('one %s and goes to another link is not told what its old link was', async (_, wishes) => {
    const link = await gateway()
    const heard = listen()
    takeTime(0.01)
    goIdle(link)
    while (vi.mocked(room.presence.change).mock.calls.length < wishes) room.world.step()
    const next = room.connect()
    next.hello(last)
    await room.settle()
    expect(heard()).toHaveLength(devicesMax - 1)
    expect(heard()).not.toContain(`${last} idle`)
  })

  test('a link that is back before anything was told makes no noise', async () => {
    const link = await gateway(10)
    const heard = listen()
    goIdle(link)
    link.update(1, 1)
    await room.settle()
    expect(heard()).toEqual([])
  })
})
