import { expect, test } from 'vitest'
import { anonymous } from '#access/built-in-callers'
import { DeviceSearch } from '#routes/device-search'
import { namesOf } from '#runtime/storage'
import type { System } from '#runtime/system'
import { ManualWorld } from '#test/runtime/manual-world'

test('the texts of a tenant are dropped after 15 minutes without a search', async () => {
  const world = new ManualWorld()
  let loads = 0
  const listing = {
    actors() {
      loads++
      return namesOf(['A', 'B'])
    },
    entries: () => namesOf([]),
  }
  const device = (id: string) => ({ device: id, meta: {}, firmwares: [] })
  const system = { peek: ({ id }: { id: string }) => device(id) } as unknown as System<never>
  const search = new DeviceSearch({ world, system, listing })
  const find = async () => {
    const found = search.matches(anonymous, 'b', '').next(10)
    await world.settle()
    return found
  }
  expect([await find(), loads]).toEqual([['B'], 1])
  await world.advance(800_000)
  expect([await find(), loads]).toEqual([['B'], 1])
  await world.advance(800_000)
  expect([await find(), loads]).toEqual([['B'], 1])
  await world.advance(900_000)
  expect([await find(), loads]).toEqual([['B'], 2])
})

test('the first search reads devices in slices', async () => {
  const world = new ManualWorld()
  const names = Array.from({ length: 20 }, (_, index) => `D${index + 10}`)
  const listing = { actors: () => namesOf(names), entries: () => namesOf([]) }
  let readInSlice = 0
  const peek = ({ id }: { id: string }) => {
    readInSlice++
    world.spend(5)
    return { device: id, meta: {}, firmwares: [] }
  }
  const search = new DeviceSearch({ world, system: { peek } as unknown as System<never>, listing })
  let found: readonly string[] | undefined
  const pages = search.matches(anonymous, 'd29', '')
  void pages.next(10).then((page) => {
    found = page
  })
  let longest = 0
  while (!found) {
    readInSlice = 0
    world.step()
    await new Promise((resolve) => setImmediate(resolve))
    longest = Math.max(longest, readInSlice)
  }
  expect([found, longest]).toEqual([['D29'], 1])
})
