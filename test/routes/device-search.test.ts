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
