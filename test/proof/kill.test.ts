import { expect, test } from 'vitest'
import { fleetWays } from '#bench/proof/fleets'
import { proveKill } from '#bench/proof/kill'

/** Against the built server, as `npm run proof -- kill` is: a kill is only real between processes. */
test('a few kills under load lose nothing that was acknowledged and tell nothing twice', {
  timeout: 120_000,
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
  const idle = Object.entries(report.clerks).filter(([, { acknowledged }]) => acknowledged === 0)
  expect(idle.length, idle.map(([name]) => name).join(', ')).toBeLessThanOrEqual(4)
  expect(report.fromStart.acknowledged).toBeGreaterThan(0)
  expect(report.fromStart.found).toBe(report.fromStart.acknowledged)
  expect(report.resumed.found + report.resumed.overridden).toBe(report.resumed.acknowledged)
})
