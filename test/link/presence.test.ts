import { beforeEach, describe, expect, test } from 'vitest'
import { deviceAddress } from '#actors/device/device'
import { tenantAddress } from '#actors/tenant/commands'
import { graceMs, Presence } from '#link/presence'
import type { Pages } from '#runtime/storage'
import { LinkStage } from '#test/link/link-stage'
import { ManualWorld } from '#test/runtime/manual-world'
import { faultyPlace } from '#test/runtime/stage'

let room: LinkStage

beforeEach(async () => {
  room = await LinkStage.open()
})

const status = (device: string) => room.device(device).status

/** A device without a link says something. */
async function post(device: string): Promise<void> {
  const { stage } = room
  if (!room.device(device).isThere) {
    stage.ask(tenantAddress('default'), { type: 'admit_device', device, meta: {} })
  }
  stage.ask(deviceAddress('default', device), {
    type: 'post',
    session: undefined,
    seq: undefined,
    services: undefined,
    updates: [],
  })
  await room.settle()
  room.presence.reportedByHttp('default', device)
}

describe('a device that only posts', () => {
  test('is online for a minute after a message', async () => {
    await post('A')
    expect(status('A')).toBe('online')
    await room.world.advance(graceMs - 2_000)
    expect(status('A')).toBe('online')
    await room.world.advance(4_000)
    expect(status('A')).toBe('offline')
  })

  test('stays online as long as it goes on', async () => {
    await post('B')
    for (let count = 0; count < 6; count++) {
      await post('A')
      await room.world.advance(graceMs / 2)
    }
    expect(status('A')).toBe('online')
    expect(status('B')).toBe('offline')
  })

  test('that comes with a link stays as long as that', async () => {
    await post('A')
    const link = room.connect()
    link.hello('A')
    await room.world.advance(2 * graceMs)
    expect(status('A')).toBe('online')
    link.close()
    await room.settle()
    expect(status('A')).toBe('offline')
  })
})

describe('after a start', () => {
  /** Three devices are online when the process dies. */
  async function restarted(): Promise<LinkStage> {
    const links = ['A', 'B', 'C'].map((device) => {
      const link = room.connect()
      link.hello(device)
      return link
    })
    await room.settle()
    links[2]?.close()
    await room.settle()
    room.stage.crash()
    const { world, place } = room.stage
    const again = await LinkStage.open({ world, place })
    again.presence.open()
    return again
  }

  test('the recorded status stands for a minute; those who are not back by then go offline', async () => {
    room = await restarted()
    await room.world.advance(graceMs - 1_000)
    expect([status('A'), status('B'), status('C')]).toEqual(['online', 'online', 'offline'])
    const link = room.connect()
    link.hello('A')
    await room.world.advance(2_000)
    expect([status('A'), status('B'), status('C')]).toEqual(['online', 'offline', 'offline'])
    const told = room.stage.events.flatMap(({ event }) =>
      event.kind === 'status_changed' ? [`${event.device} ${event.status}`] : [],
    )
    expect(told).toEqual(['B offline'])
  })

  test('one that posted meanwhile has its own minute', async () => {
    room = await restarted()
    await room.world.advance(graceMs - 10_000)
    await post('B')
    await room.world.advance(20_000)
    expect([status('A'), status('B')]).toEqual(['offline', 'online'])
    await room.world.advance(graceMs)
    expect(status('B')).toBe('offline')
  })

  test('started again, it waits anew', async () => {
    room = await restarted()
    await room.world.advance(graceMs - 1_000)
    room.presence.open()
    await room.world.advance(graceMs - 1_000)
    expect(status('A')).toBe('online')
    await room.world.advance(2_000)
    expect(status('A')).toBe('offline')
  })

  test('stopped, it changes nothing any more', async () => {
    room = await restarted()
    await post('A')
    room.presence.close()
    await room.world.advance(3 * graceMs)
    expect([status('A'), status('B')]).toEqual(['online', 'online'])
  })
})

test('of very many that are not back, no more are listed than can be set soon', async () => {
  const names = Array.from({ length: 1_000 }, (_, index) => `D${index}`)
  const waiting = new Set<string>()
  let waitingMost = 0
  const presence = new Presence({
    system: room.stage.system,
    listing: {
      actors: () => namesOf([]),
      entries: () => namesOf(names),
    },
    // Asked when it is wished for, and again when its turn comes, which takes its time.
    statusOf: (_, device) => {
      if (waiting.delete(device)) room.world.spend(5)
      else waiting.add(device)
      waitingMost = Math.max(waitingMost, waiting.size)
      return 'offline'
    },
    failed: (error) => {
      throw error
    },
  })
  room.stage.system.registry.head('default')
  presence.open()
  await room.world.advance(graceMs)
  expect(waiting.size).toBe(0)
  expect(waitingMost).toBeGreaterThan(1)
  expect(waitingMost).toBeLessThan(600)
})

function namesOf(names: readonly string[]): Pages {
  let at = 0
  return {
    next: async (countMax) => {
      const page = names.slice(at, at + countMax)
      at += page.length
      return page
    },
    close: async () => {},
  }
}

describe('wishes', () => {
  test('are overridden by later ones, and by what is so when their turn comes', async () => {
    const link = room.connect()
    link.hello('A')
    await room.settle()
    room.presence.change('default', 'A', 'idle')
    room.presence.change('default', 'A', 'online')
    await room.settle()
    room.presence.change('default', 'A', 'offline')
    await room.settle()
    expect(status('A')).toBe('online')
    const told = room.stage.events.filter(({ event }) => event.kind === 'status_changed')
    expect(told).toHaveLength(1)
  })

  test('for devices that nobody knows make none', async () => {
    room.presence.change('default', 'X', 'offline')
    await room.settle()
    expect(room.device('X').isThere).toBe(false)
    expect(room.stage.commits).toEqual([])
  })

  test('while the store takes no writes are settled when it does again', async () => {
    const world = new ManualWorld()
    const { place, faults } = faultyPlace(world)
    room = await LinkStage.open({ world, place })
    const link = room.connect()
    link.hello('A')
    await room.settle()
    faults.next = { fail: 'full', reachedDisk: false }
    place.setRoom(false)
    link.update(1, 1)
    await room.settle()
    expect(link.closedWith).toBe(1013)
    expect(status('A')).toBe('online')
    place.setRoom(true)
    await room.world.advance(1_000)
    room.presence.open()
    await room.world.advance(graceMs + 1_000)
    expect(status('A')).toBe('offline')
  })
})
