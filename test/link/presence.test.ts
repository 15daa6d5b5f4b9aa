import { beforeEach, describe, expect, test } from 'vitest'
import { deviceAddress } from '#actors/device/device'
import { tenantAddress } from '#actors/tenant/commands'
import { graceMs, Presence } from '#link/presence'
import { namesOf } from '#runtime/storage'
import { LinkFixture } from '#test/link/link-fixture'

let setup: LinkFixture

beforeEach(async () => {
  setup = await LinkFixture.open()
})

const status = (device: string) => setup.device(device).status

/** Sends a message of a device that has no connection. */
async function post(device: string): Promise<void> {
  const { runtime } = setup
  if (!setup.device(device).exists) {
    runtime.ask(tenantAddress('default'), { type: 'admit_device', device, meta: {} })
  }
  runtime.ask(deviceAddress('default', device), {
    type: 'post',
    session: undefined,
    seq: undefined,
    services: undefined,
    updates: [],
  })
  await setup.settle()
  setup.presence.reportedByHttp('default', device)
}

describe('a device that only posts', () => {
  test('is online for a minute after a message', async () => {
    await post('A')
    expect(status('A')).toBe('online')
    await setup.world.advance(graceMs - 2_000)
    expect(status('A')).toBe('online')
    await setup.world.advance(4_000)
    expect(status('A')).toBe('offline')
  })

  test('stays online while it continues', async () => {
    await post('B')
    for (let count = 0; count < 6; count++) {
      await post('A')
      await setup.world.advance(graceMs / 2)
    }
    expect(status('A')).toBe('online')
    expect(status('B')).toBe('offline')
  })

  test('that connects stays online while it is connected', async () => {
    await post('A')
    const link = setup.connect()
    link.hello('A')
    await setup.world.advance(2 * graceMs)
    expect(status('A')).toBe('online')
    link.close()
    await setup.settle()
    expect(status('A')).toBe('offline')
  })
})

describe('after a start', () => {
  /** Two of three devices are online when the process dies. */
  async function restarted(): Promise<LinkFixture> {
    const links = ['A', 'B', 'C'].map((device) => {
      const link = setup.connect()
      link.hello(device)
      return link
    })
    await setup.settle()
    links[2]?.close()
    await setup.settle()
    setup.runtime.crash()
    const { world, backend } = setup.runtime
    const again = await LinkFixture.open({ world, backend })
    again.presence.open()
    return again
  }

  test('the recorded status stays for a minute; devices that are not back by then go offline', async () => {
    setup = await restarted()
    await setup.world.advance(graceMs - 1_000)
    expect([status('A'), status('B'), status('C')]).toEqual(['online', 'online', 'offline'])
    const link = setup.connect()
    link.hello('A')
    await setup.world.advance(2_000)
    expect([status('A'), status('B'), status('C')]).toEqual(['online', 'offline', 'offline'])
    expect(setup.statuses).toEqual(['B offline'])
  })

  test('a device that posts meanwhile has its own minute', async () => {
    setup = await restarted()
    await setup.world.advance(graceMs - 10_000)
    await post('B')
    await setup.world.advance(20_000)
    expect([status('A'), status('B')]).toEqual(['offline', 'online'])
    await setup.world.advance(graceMs)
    expect(status('B')).toBe('offline')
  })

  test('opening again restarts the minute', async () => {
    setup = await restarted()
    await setup.world.advance(graceMs - 1_000)
    setup.presence.open()
    await setup.world.advance(graceMs - 1_000)
    expect(status('A')).toBe('online')
    await setup.world.advance(2_000)
    expect(status('A')).toBe('offline')
  })

  test('closing stops all changes', async () => {
    setup = await restarted()
    await post('A')
    setup.presence.close()
    await setup.world.advance(3 * graceMs)
    expect([status('A'), status('B')]).toEqual(['online', 'online'])
  })
})

test('the listing of missing devices waits for their status changes', async () => {
  const names = Array.from({ length: 1_000 }, (_, index) => `D${index}`)
  const waiting = new Set<string>()
  let waitingMost = 0
  const presence = new Presence({
    system: setup.runtime.system,
    listing: {
      actors: () => namesOf([]),
      entries: () => namesOf(names),
    },
    // Called when a change is requested, and again when it is made, which takes time.
    statusOf: (_, device) => {
      if (waiting.delete(device)) setup.world.spend(5)
      else waiting.add(device)
      waitingMost = Math.max(waitingMost, waiting.size)
      return 'offline'
    },
    failed: (error) => {
      throw error
    },
  })
  setup.runtime.system.registry.head('default')
  presence.open()
  await setup.world.advance(graceMs)
  expect(waiting.size).toBe(0)
  expect(waitingMost).toBeGreaterThan(1)
  expect(waitingMost).toBeLessThan(600)
})

describe('requested status changes', () => {
  test('are replaced by later ones, and by the actual state', async () => {
    await setup.connected()
    setup.presence.change('default', 'A', 'idle')
    setup.presence.change('default', 'A', 'online')
    await setup.settle()
    setup.presence.change('default', 'A', 'offline')
    await setup.settle()
    expect(status('A')).toBe('online')
    const changes = setup.runtime.events.filter(({ event }) => event.kind === 'status_changed')
    expect(changes).toHaveLength(1)
  })

  test('do not create unknown devices', async () => {
    setup.presence.change('default', 'X', 'offline')
    await setup.settle()
    expect(setup.device('X').exists).toBe(false)
    expect(setup.runtime.commits).toEqual([])
  })

  test('are published later, when a read-only store accepts writes again', async () => {
    const { backend } = setup.runtime
    const link = await setup.connected()
    setup.faults.next = { fail: 'full', reachedDisk: false }
    backend.setRoom(false)
    link.update(1, 1)
    await setup.settle()
    expect(link.closedWith).toBe(1013)
    expect(status('A')).toBe('online')
    backend.setRoom(true)
    await setup.world.advance(1_000)
    setup.presence.open()
    await setup.world.advance(graceMs + 1_000)
    expect(status('A')).toBe('offline')
  })
})
