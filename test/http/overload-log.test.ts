import { expect, test } from 'vitest'
import { OverloadLog } from '#http/request-log'
import { ManualWorld } from '#test/runtime/manual-world'

test('the first refusal is logged, then the count of each second', async () => {
  const world = new ManualWorld()
  const logged: unknown[] = []
  const log = { isLevelEnabled: () => true, debug() {}, error() {}, warn: (fields: object) => logged.push(fields) }
  const overloadLog = new OverloadLog(world, log, 'more')
  const come = (...paths: string[]) => {
    for (const path of paths) overloadLog.add(() => ({ path }))
  }
  come('a', 'b', 'c')
  expect(logged.splice(0)).toEqual([{ path: 'a' }])
  await world.advance(1000)
  expect(logged.splice(0)).toEqual([{ requests: 2 }])
  come('d')
  await world.advance(1000)
  expect(logged.splice(0)).toEqual([{ requests: 1 }])
  // After a second without refusals the next one is logged at once.
  await world.advance(1000)
  come('e')
  expect(logged).toEqual([{ path: 'e' }])
})
