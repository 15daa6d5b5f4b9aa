import { expect, test } from 'vitest'
import { OverloadLog } from '#http/server-log'
import { ManualWorld } from '#test/runtime/manual-world'

test('of a flood the first is said, then each second how many there were', async () => {
  const world = new ManualWorld()
  const said: unknown[] = []
  const log = { isLevelEnabled: () => true, debug() {}, error() {}, warn: (fields: object) => said.push(fields) }
  const overloadLog = new OverloadLog(world, log, 'more')
  const come = (...paths: string[]) => {
    for (const path of paths) overloadLog.add(() => ({ path }))
  }
  come('a', 'b', 'c')
  expect(said.splice(0)).toEqual([{ path: 'a' }])
  await world.advance(1000)
  expect(said.splice(0)).toEqual([{ status: 503, requests: 2 }])
  come('d')
  await world.advance(1000)
  expect(said.splice(0)).toEqual([{ status: 503, requests: 1 }])
  // A second without one, and the next is said again.
  await world.advance(1000)
  come('e')
  expect(said).toEqual([{ path: 'e' }])
})
