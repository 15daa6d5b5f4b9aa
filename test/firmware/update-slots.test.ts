import { beforeEach, describe, expect, test } from 'vitest'
import {
  busyStartsPerSecond,
  type SlotRequest,
  silentMs,
  startsPerSecond,
  UpdateSlots,
  waitingMax,
} from '#firmware/update-slots'
import { ManualWorld } from '#test/runtime/manual-world'

const tenant = 'default'
let world: ManualWorld
let begun: string[]
let slots: UpdateSlots<SlotRequest>

beforeEach(() => {
  world = new ManualWorld()
  begun = []
  slots = new UpdateSlots({ world, countMax: 2, begin: ({ device }) => begun.push(device) })
})

const wait = (device: string) => slots.wait({ tenant, device })
const counts = () => [slots.placedCount, slots.waitingCount]

describe('slots', () => {
  test('are taken while some are free, and then waited for in order', async () => {
    expect(['A', 'B', 'C'].map((device) => slots.take(tenant, device))).toEqual([true, true, false])
    expect([wait('C'), wait('D'), wait('C')]).toEqual([true, true, true])
    await world.settle()
    expect([begun, counts()]).toEqual([[], [2, 2]])
    slots.leave(tenant, 'B')
    await world.settle()
    expect([begun, counts()]).toEqual([['C'], [2, 1]])
    slots.leave(tenant, 'unknown')
    slots.leave(tenant, 'A')
    await world.settle()
    expect([begun, counts()]).toEqual([
      ['C', 'D'],
      [2, 0],
    ])
  })

  test('are granted at a limited rate, with a burst after a pause', async () => {
    slots = new UpdateSlots({ world, countMax: 10_000, begin: ({ device }) => begun.push(device) })
    const names = Array.from({ length: 5 * startsPerSecond }, (_, place) => `D${place}`)
    const taken = names.filter((device) => slots.take(tenant, device))
    expect(taken).toEqual(names.slice(0, startsPerSecond))
    const others = names.slice(startsPerSecond)
    for (const device of others) wait(device)
    await world.settle()
    expect(begun).toEqual([])
    await world.advance(1_000)
    expect(begun).toEqual(others.slice(0, startsPerSecond))
    await world.advance(3_000)
    expect(begun).toEqual(others)
    await world.advance(10_000)
    expect(names.filter((_, place) => slots.take(tenant, `E${place}`))).toHaveLength(startsPerSecond)
  })

  test('are granted at a lower rate while the loop is busy', async () => {
    slots = new UpdateSlots({ world, countMax: 10_000, begin: ({ device }) => begun.push(device) })
    world.busyShare = 0.5
    const names = Array.from({ length: 3 * busyStartsPerSecond }, (_, place) => `D${place}`)
    expect(names.filter((device) => slots.take(tenant, device))).toEqual(names.slice(0, busyStartsPerSecond))
    const others = names.slice(busyStartsPerSecond)
    for (const device of others) wait(device)
    await world.advance(1_000)
    expect(begun).toEqual(others.slice(0, busyStartsPerSecond))
  })

  test('are not taken ahead of waiting devices', async () => {
    for (const device of ['A', 'B']) slots.take(tenant, device)
    wait('C')
    slots.leave(tenant, 'A')
    expect(slots.take(tenant, 'D')).toBe(false)
    await world.settle()
    expect(begun).toEqual(['C'])
  })

  test('of one device count once, by tenant', () => {
    slots.take(tenant, 'A')
    slots.hold(tenant, 'A')
    expect([slots.has(tenant, 'A'), slots.has('acme', 'A'), slots.placedCount]).toEqual([true, false, 1])
  })

  test('may be held above the limit', async () => {
    for (const device of ['A', 'B', 'C']) slots.hold(tenant, device)
    wait('D')
    slots.leave(tenant, 'A')
    await world.settle()
    expect([begun, counts()]).toEqual([[], [2, 1]])
  })

  test('are released after a minute without a sign', async () => {
    slots.take(tenant, 'A')
    slots.take(tenant, 'B')
    wait('C')
    wait('D')
    await world.advance(silentMs - 1)
    slots.renew(tenant, 'A')
    expect(begun).toEqual([])
    await world.advance(1)
    expect([begun, slots.has(tenant, 'B')]).toEqual([['C'], false])
    await world.advance(silentMs - 1)
    expect([begun, slots.has(tenant, 'A')]).toEqual([['C', 'D'], false])
    slots.renew(tenant, 'A')
    expect(slots.has(tenant, 'A')).toBe(false)
  })

  test('are granted in short slices when each is released at once', async () => {
    slots = new UpdateSlots({
      world,
      countMax: 1,
      begin: ({ device }) => {
        begun.push(device)
        world.spend(0.3)
        slots.leave(tenant, device)
      },
    })
    slots.hold(tenant, 'first')
    for (let count = 0; count < 100; count++) wait(`D${count}`)
    slots.leave(tenant, 'first')
    world.step()
    expect(begun.length).toBeLessThanOrEqual(4)
    await world.settle()
    expect(begun).toHaveLength(100)
    expect(counts()).toEqual([0, 0])
  })

  test('are cleared of one tenant, or of all', async () => {
    slots.take('acme', 'A')
    slots.take(tenant, 'A')
    slots.wait({ tenant: 'acme', device: 'B' })
    wait('C')
    slots.clear('acme')
    await world.settle()
    expect([begun, counts()]).toEqual([['C'], [2, 0]])
    slots.clear()
    expect(counts()).toEqual([0, 0])
  })

  test(`are waited for by at most ${waitingMax}`, () => {
    slots.hold(tenant, 'A')
    slots.hold(tenant, 'B')
    for (let count = 0; count < waitingMax; count++) wait(`D${count}`)
    expect([wait('one more'), wait('D0')]).toEqual([false, true])
  })
})
