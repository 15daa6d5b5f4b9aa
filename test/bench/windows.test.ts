import { expect, test } from 'vitest'
import { heardBeside } from '#bench/harness/windows'
import type { LatencySummary } from '#bench/histogram'

const heard = (p99: number) => ({ delivery: { p50: p99 / 2, p99 } as LatencySummary })

test.each([
  { without: [4, 6, 90], beside: [7, 8, 300], p99: 8, most: 300, ofLimit: 8 / 16 },
  { without: [20, 20, 20], beside: [10, 60, 60], p99: 60, most: 60, ofLimit: 60 / 40 },
  { without: [5, 7], beside: [10, 14], p99: 12, most: 14, ofLimit: 12 / 16 },
])('$beside beside $without is $ofLimit of what it may be, by the window in the middle', (line) => {
  const figures = heardBeside(line.without.map(heard), line.beside.map(heard))
  expect(figures).toMatchObject({ heardP99: line.p99, heardP99Most: line.most, heardP50: line.p99 / 2 })
  expect(figures.ofLimit).toBeCloseTo(line.ofLimit)
})
