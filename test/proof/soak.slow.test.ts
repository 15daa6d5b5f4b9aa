import { expect, test } from 'vitest'
import { gauges, proveSoak } from '#bench/proof/soak'

/** One minute of the soak, which is too short to exclude growth, but finds a planted leak. */

const leakBytesPerSecond = 5e6
/** Loaded into the server. It measures time, because a busy machine runs timers less often. */
const leak = `
  const kept = []
  let at = process.hrtime.bigint()
  setInterval(() => {
    const now = process.hrtime.bigint()
    kept.push(Buffer.alloc((Number(now - at) / 1e9) * ${leakBytesPerSecond}, 1))
    at = now
  }, 100).unref()
`

test('a leak is found, and all acknowledged changes are received', { timeout: 240_000 }, async () => {
  const seed = Date.now() % 1_000_000_000
  const { growth, received, visits, acknowledged, problems } = await proveSoak({
    ...{ minutes: 0.9, seed, devices: 20, rate: 300, print: () => {} },
    nodeArguments: ['--import', `data:text/javascript,${encodeURIComponent(leak)}`],
  })
  const others = problems.filter((text) => !/^[^:]+: (.* growth|has only \d+ samples)/.test(text))
  expect(others, `seed ${seed}`).toEqual([])
  const perMinute = (leakBytesPerSecond * 60) / gauges.live.scale
  expect(growth[0]?.perMinute, `seed ${seed}`).toBeGreaterThan(perMinute / 2)
  for (const title of [gauges.live.title, gauges.resident.title])
    expect(problems.join('\n'), `seed ${seed}`).toMatch(new RegExp(`^${title}: .* growth`, 'm'))
  expect(received.acknowledged).toBeGreaterThan(0)
  expect(received.found).toBeGreaterThan(0)
  expect(visits.devices).toBeGreaterThan(0)
  expect(visits.subscribers).toBeGreaterThan(0)
  expect(acknowledged).toBeGreaterThan(0)
})
