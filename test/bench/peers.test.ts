import { expect, test } from 'vitest'
import { underLoad } from '#bench/harness/under-load'
import type { PeersResult } from '#bench/load/peers'
import { admittingName, compared } from '#bench/peers/compared'

/** Letting everybody in is tried elsewhere, and takes a start more. */
const tried = compared.filter(({ name, isThere }) => isThere && name !== admittingName)
const fleet = { devices: 10, links: 2, changesMax: 128, napMs: 0, dashboards: 4, witnesses: 2 }

test('each that is there tells every dashboard every change, at full speed and at a pace', async () => {
  // Those that a bare machine has too.
  expect(tried.map(({ name }) => name)).toEqual(expect.arrayContaining(['this server', 'ws', 'aedes', 'socket.io']))
  for (const { name, protocol, start, version } of tried) {
    expect(version(), name).toMatch(/\d|this commit/)
    const [full, paced] = await underLoad(start, 'load/peers', { ...fleet, protocol }, async (run) => [
      await run<PeersResult>({ warmupMs: 50, measuredMs: 100 }),
      await run<PeersResult>({ warmupMs: 50, measuredMs: 200, rate: 500 }),
    ])
    // The load itself throws when a dashboard heard less, or more, than was sent.
    for (const { changes, deliveries, dashboardBytes } of [full, paced] as [PeersResult, PeersResult]) {
      expect(changes, name).toBeGreaterThan(0)
      expect(deliveries).toBe(changes * fleet.dashboards)
      expect(dashboardBytes / deliveries).toBeGreaterThan(300)
    }
    expect(paced?.latency.count, name).toBeGreaterThan(0)
  }
})
