import { beforeEach, describe, expect, test, vi } from 'vitest'
import { LinkFixture, type TestLink } from '#test/link/link-fixture'

let setup: LinkFixture

beforeEach(async () => {
  setup = await LinkFixture.open()
})

const devicesMax = 600
const nameOf = (index: number) => `D${index}`

/** A gateway with `count` connected devices. */
async function gateway(count = devicesMax, first = 0): Promise<TestLink> {
  const link = setup.connect()
  for (let index = first; index < first + count; index++) link.hello(nameOf(index))
  await setup.settle()
  return link
}

/** The status changes from now on. */
function recordStatuses(): () => string[] {
  const from = setup.statuses.length
  return () => setup.statuses.slice(from)
}

/** From now on each status change takes time, on the clock that limits slices. */
function takeTime(ms: number): void {
  const { presence, world } = setup
  const change = presence.change.bind(presence)
  const monotonic = world.monotonic.bind(world)
  let spent = 0
  world.monotonic = () => monotonic() + spent
  vi.spyOn(presence, 'change').mockImplementation((...args) => {
    spent += ms
    change(...args)
  })
}

/** Runs until the connection becomes idle; returns the longest time that a task took. */
function goIdle(link: TestLink): number {
  const { world } = setup
  let longest = 0
  link.isAnswering = false
  while (setup.links.statusOf('default', nameOf(0)) !== 'idle') {
    world.spend(1_000)
    const began = world.monotonic()
    world.fire()
    longest = Math.max(longest, world.monotonic() - began)
  }
  return longest
}

/** Runs all tasks; returns the longest time that one took. */
async function longestTask(first: () => void): Promise<number> {
  const { world } = setup
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

describe('no task takes more than two milliseconds', () => {
  test('when a connection closes', async () => {
    const link = await gateway()
    const statuses = recordStatuses()
    takeTime(0.01)
    expect(await longestTask(() => link.close())).toBeLessThan(2)
    expect(statuses()).toEqual(Array.from({ length: devicesMax }, (_, index) => `${nameOf(index)} offline`))
    expect(setup.links.deviceCount).toBe(0)
  })

  test('when many connections close, and all their devices go offline', async () => {
    const links: TestLink[] = []
    for (let place = 0; place < 20; place++) links.push(await gateway(30, place * 30))
    const statuses = recordStatuses()
    takeTime(0.01)
    const held = await longestTask(() => {
      for (const link of links) link.close()
    })
    expect(held).toBeLessThan(2)
    expect(statuses().sort()).toEqual(
      Array.from({ length: devicesMax }, (_, index) => `${nameOf(index)} offline`).sort(),
    )
  })

  test('when a connection does not answer', async () => {
    const link = await gateway()
    const statuses = recordStatuses()
    takeTime(0.01)
    expect(goIdle(link)).toBeLessThan(2)
    expect(await longestTask(() => {})).toBeLessThan(2)
    expect(statuses()).toEqual(Array.from({ length: devicesMax }, (_, index) => `${nameOf(index)} idle`))
  })
})

describe('while the devices of a closed connection go offline', () => {
  /** Closes a connection and stops after some of its devices. */
  async function closing(): Promise<() => string[]> {
    const link = await gateway()
    const statuses = recordStatuses()
    takeTime(0.01)
    link.close()
    setup.world.step()
    return statuses
  }
  const [early, late] = [nameOf(0), nameOf(devicesMax - 1)]

  test('a device that is back on another connection stays online', async () => {
    const statuses = await closing()
    const next = setup.connect()
    for (const device of [early, late]) next.hello(device)
    await setup.settle()
    await setup.world.advance(5_000)
    for (const device of [early, late]) {
      expect(setup.device(device)).toMatchObject({ status: 'online', numConnects: 2 })
      expect(statuses()).not.toContain(`${device} offline`)
    }
    expect(statuses()).toHaveLength(devicesMax - 2)
    expect(next.lines).toEqual(['WELCOME @1 0', `WELCOME @${devicesMax} 0`])
    next.update(devicesMax, 1)
    await setup.settle()
    expect(next.shortAcks).toEqual([[devicesMax, 1]])
    next.close()
    await setup.settle()
    expect([early, late].map((device) => setup.device(device).status)).toEqual(['offline', 'offline'])
    expect(setup.links.deviceCount).toBe(0)
  })

  test('all its devices already count as offline', async () => {
    await closing()
    expect([early, late].map((device) => setup.links.statusOf('default', device))).toEqual(['offline', 'offline'])
  })

  test('repeated reconnects are not takeovers', async () => {
    await closing()
    for (let count = 0; count < 30; count++) {
      const next = setup.connect()
      next.hello(late)
      await setup.settle()
      expect(next.lines).toEqual([`WELCOME @${devicesMax} 0`])
      next.close()
    }
  })

  test('a server that stops keeps the recorded status', async () => {
    const statuses = await closing()
    setup.links.stop()
    setup.presence.close()
    await setup.settle()
    expect(statuses()).toEqual([])
    expect(setup.device(late).status).toBe('online')
  })
})

describe('a status change follows the state that the connection has when it is published', () => {
  const last = nameOf(devicesMax - 1)

  test.each([
    ['before its change is requested', 1],
    ['before it is published', devicesMax],
  ])('a device that moves to another connection %s does not get the old status', async (_, changes) => {
    const link = await gateway()
    const statuses = recordStatuses()
    takeTime(0.01)
    goIdle(link)
    while (vi.mocked(setup.presence.change).mock.calls.length < changes) setup.world.step()
    const next = setup.connect()
    next.hello(last)
    await setup.settle()
    expect(statuses()).toHaveLength(devicesMax - 1)
    expect(statuses()).not.toContain(`${last} idle`)
  })

  test('a connection that answers again in time publishes nothing', async () => {
    const link = await gateway(10)
    const statuses = recordStatuses()
    goIdle(link)
    link.update(1, 1)
    await setup.settle()
    expect(statuses()).toEqual([])
  })
})
