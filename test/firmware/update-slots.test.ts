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
let places: UpdateSlots<SlotRequest>

beforeEach(() => {
  world = new ManualWorld()
  begun = []
  places = new UpdateSlots({ world, countMax: 2, begin: ({ device }) => begun.push(device) })
})

const wait = (device: string) => places.wait({ tenant, device })
const counts = () => [places.placedCount, places.waitingCount]

describe('places', () => {
  test('are taken while there are some, and then waited for in order', async () => {
    expect(['A', 'B', 'C'].map((device) => places.take(tenant, device))).toEqual([true, true, false])
    expect([wait('C'), wait('D'), wait('C')]).toEqual([true, true, true])
    await world.settle()
    expect([begun, counts()]).toEqual([[], [2, 2]])
    places.leave(tenant, 'B')
    await world.settle()
    expect([begun, counts()]).toEqual([['C'], [2, 1]])
    places.leave(tenant, 'nobody')
    places.leave(tenant, 'A')
    await world.settle()
    expect([begun, counts()]).toEqual([
      ['C', 'D'],
      [2, 0],
    ])
  })

  test('are given to so many a second, and to as many at once after a pause', async () => {
    places = new UpdateSlots({ world, countMax: 10_000, begin: ({ device }) => begun.push(device) })
    const names = Array.from({ length: 5 * startsPerSecond }, (_, place) => `D${place}`)
    const taken = names.filter((device) => places.take(tenant, device))
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
    expect(names.filter((_, place) => places.take(tenant, `E${place}`))).toHaveLength(startsPerSecond)
  })

  test('are given to fewer a second beside a busy loop', async () => {
    places = new UpdateSlots({ world, countMax: 10_000, begin: ({ device }) => begun.push(device) })
    world.busyShare = 0.5
    const names = Array.from({ length: 3 * busyStartsPerSecond }, (_, place) => `D${place}`)
    expect(names.filter((device) => places.take(tenant, device))).toEqual(names.slice(0, busyStartsPerSecond))
    const others = names.slice(busyStartsPerSecond)
    for (const device of others) wait(device)
    await world.advance(1_000)
    expect(begun).toEqual(others.slice(0, busyStartsPerSecond))
  })

  test('are not taken by who comes while others wait', async () => {
    for (const device of ['A', 'B']) places.take(tenant, device)
    wait('C')
    places.leave(tenant, 'A')
    expect(places.take(tenant, 'D')).toBe(false)
    await world.settle()
    expect(begun).toEqual(['C'])
  })

  test('of one device are one, in whatever tenant it is', () => {
    places.take(tenant, 'A')
    places.hold(tenant, 'A')
    expect([places.has(tenant, 'A'), places.has('acme', 'A'), places.placedCount]).toEqual([true, false, 1])
  })

  test('that are held are held, however many there are', async () => {
    for (const device of ['A', 'B', 'C']) places.hold(tenant, device)
    wait('D')
    places.leave(tenant, 'A')
    await world.settle()
    expect([begun, counts()]).toEqual([[], [2, 1]])
  })

  test('are given up after a minute without a sign', async () => {
    places.take(tenant, 'A')
    places.take(tenant, 'B')
    wait('C')
    wait('D')
    await world.advance(silentMs - 1)
    places.sign(tenant, 'A')
    expect(begun).toEqual([])
    await world.advance(1)
    expect([begun, places.has(tenant, 'B')]).toEqual([['C'], false])
    await world.advance(silentMs - 1)
    expect([begun, places.has(tenant, 'A')]).toEqual([['C', 'D'], false])
    places.sign(tenant, 'A')
    expect(places.has(tenant, 'A')).toBe(false)
  })

  test('are gone through a little at a time when nothing comes of those that waited', async () => {
    places = new UpdateSlots({
      world,
      countMax: 1,
      begin: ({ device }) => {
        begun.push(device)
        world.spend(0.3)
        places.leave(tenant, device)
      },
    })
    places.hold(tenant, 'first')
    for (let count = 0; count < 100; count++) wait(`D${count}`)
    places.leave(tenant, 'first')
    world.step()
    expect(begun.length).toBeLessThanOrEqual(4)
    await world.settle()
    expect(begun).toHaveLength(100)
    expect(counts()).toEqual([0, 0])
  })

  test('are cleared of one tenant, or of all', async () => {
    places.take('acme', 'A')
    places.take(tenant, 'A')
    places.wait({ tenant: 'acme', device: 'B' })
    wait('C')
    places.clear('acme')
    await world.settle()
    expect([begun, counts()]).toEqual([['C'], [2, 0]])
    places.clear()
    expect(counts()).toEqual([0, 0])
  })

  test(`are waited for by at most ${waitingMax}`, () => {
    places.hold(tenant, 'A')
    places.hold(tenant, 'B')
    for (let count = 0; count < waitingMax; count++) wait(`D${count}`)
    expect([wait('one more'), wait('D0')]).toEqual([false, true])
  })
})
