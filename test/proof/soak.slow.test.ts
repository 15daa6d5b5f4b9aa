import { expect, test } from 'vitest'
import { gauges } from '#bench/proof/soak/gauges'
import { proveSoak } from '#bench/proof/soak/soak'

/** Some seconds of it, far too short to say that nothing grows: memory that is never given back is found, and nothing else. */

const leakBytesPerSecond = 20e6
/** Loaded into the server. */
const leak = `
  const kept = []
  setInterval(() => kept.push(Buffer.alloc(${leakBytesPerSecond / 10}, 1)), 100).unref()
`

test('a leak is found, and all that was acknowledged', { timeout: 240_000 }, async () => {
  const seed = Date.now() % 1_000_000_000
  const { growth, heard, walks, writes, problems } = await proveSoak({
    ...{ minutes: 0.5, seed, devices: 40, rate: 1_000, print: () => {} },
    nodeArguments: ['--import', `data:text/javascript,${encodeURIComponent(leak)}`],
  })
  const perMinute = (leakBytesPerSecond * 60) / gauges.live.scale
  expect(growth.live?.slope.perMinute, `seed ${seed}`).toBeGreaterThan(perMinute / 2)
  const others = problems.filter((text) => !/^[^:]+: (grows|nobody can say)/.test(text))
  expect(others, `seed ${seed}`).toEqual([])
  for (const title of [gauges.live.title, gauges.resident.title])
    expect(problems.join('\n'), `seed ${seed}`).toContain(`${title}: grows`)
  expect(heard.acknowledged).toBeGreaterThan(0)
  expect(heard.found + heard.overridden).toBe(heard.acknowledged)
  expect(walks['devices by HTTP']).toBeGreaterThan(0)
  expect(Object.values(writes).some(({ acknowledged }) => acknowledged > 0)).toBe(true)
})
