import { expect, test } from 'vitest'
import { fleetWays } from '#bench/proof/fleets'
import { idleKindsFaults, idleKindsOf, proveKill } from '#bench/proof/kill'

/** Against the built server, as `npm run proof -- kill` is: a kill is only real between processes. */
test('a few kills under load lose nothing that was acknowledged and tell nothing twice', {
  timeout: 240_000,
}, async () => {
  const seed = Date.now() % 1_000_000_000
  const report = await proveKill({
    rounds: 5,
    lifeMsMax: 900,
    seed,
    devices: 50,
    rate: 2_000,
    ways: fleetWays,
    durability: 'both',
    secondsMax: 60,
    print: () => {},
  })
  expect(report.problems, `seed ${seed}`).toEqual([])
  expect(report.rounds).toBe(5)
  // A server rotates its signing keys from its second minute on; in five short lives some that hash passwords do nothing.
  expect(report.idleKinds.length, report.idleKinds.join(', ')).toBeLessThanOrEqual(4)
  expect(report.fromStart.acknowledged).toBeGreaterThan(0)
  expect(report.fromStart.found).toBe(report.fromStart.acknowledged)
  expect(report.resumed.found + report.resumed.overridden).toBe(report.resumed.acknowledged)
})

test('a kind of which nothing was acknowledged is a problem of a run in which each has its turn', () => {
  const counts = { landed: 3, vanished: 3, repeated: 3, busy: 3 }
  const idle = idleKindsOf({ schemas: { acknowledged: 1, ...counts }, 'signing keys': { acknowledged: 0, ...counts } })
  expect(idle).toEqual(['signing keys'])
  expect(idleKindsFaults(idle, 25)).toEqual([])
  expect(idleKindsFaults(idle, 100)).toEqual(['signing keys: nothing was acknowledged in 100 rounds'])
  expect(idleKindsFaults([], 100)).toEqual([])
})
