import { describe, expect, test } from 'vitest'
import { isSelected } from '#firmware/rollout-windows'
import type { RolloutBody, StoredRollout } from '#model/rollout'

const names = Array.from({ length: 10_000 }, (_, place) => `device-${place}`)

function rollout(body: Partial<RolloutBody>): StoredRollout {
  return {
    id: 'R1',
    body: { firmware: '2.0.0', percent: 100, ...body },
    state: 'running',
    countedFrom: { finished: 0, failed: 0 },
    createdBy: 'crn#user:2Vb7qYx9Kd',
    createdAt: 0,
    updatedBy: 'crn#user:2Vb7qYx9Kd',
    updatedAt: 0,
  }
}

function selectedBy(body: Partial<RolloutBody>, project = 'boiler'): ReadonlySet<string> {
  const stored = rollout(body)
  return new Set(names.filter((device) => isSelected(project, stored, device, () => undefined)))
}

describe('the devices of a rollout', () => {
  test.each([0, 0.5, 1, 10, 12.5, 50, 90, 99.5, 100])('are about %d percent', (percent) => {
    const share = (selectedBy({ percent }).size / names.length) * 100
    expect(Math.abs(share - percent)).toBeLessThan(2)
    if (percent === 0 || percent === 100) expect(share).toBe(percent)
  })

  test('stay selected when the percentage grows', () => {
    let before: ReadonlySet<string> = new Set()
    for (const percent of [0, 0.01, 1, 5, 20, 60, 99, 100]) {
      const now = selectedBy({ percent })
      expect([...before].filter((device) => !now.has(device))).toEqual([])
      before = now
    }
  })

  test('differ by firmware and project', () => {
    const some = selectedBy({ percent: 10 })
    for (const others of [selectedBy({ percent: 10, firmware: '2.0.1' }), selectedBy({ percent: 10 }, 'pump')]) {
      const both = [...some].filter((device) => others.has(device)).length
      // 10 % of 10 % of 10 000.
      expect(both).toBeGreaterThan(50)
      expect(both).toBeLessThan(200)
    }
  })

  test('depend on the SHA-256 of names only', () => {
    // printf 'boiler/2.0.0/device-7' | sha256sum
    const at = (percent: number) => isSelected('boiler', rollout({ percent }), 'device-7', () => undefined)
    expect([at(91.849), at(91.851)]).toEqual([false, true])
  })
})

describe('the devices of a rollout for groups', () => {
  const groups = new Map([
    ['G1', ['A', 'C', 'E', 'a']],
    ['G2', ['B']],
    ['G3', []],
  ])
  const selected = (names: string[] | undefined, percent = 100) =>
    ['A', 'B', 'C', 'D', 'E', 'F', 'a', 'b'].filter((device) =>
      isSelected('boiler', rollout({ percent, ...(names && { groups: names }) }), device, (group) => groups.get(group)),
    )

  test.each([
    [undefined, ['A', 'B', 'C', 'D', 'E', 'F', 'a', 'b']],
    [['G1'], ['A', 'C', 'E', 'a']],
    [
      ['G1', 'G2'],
      ['A', 'B', 'C', 'E', 'a'],
    ],
    [['G3'], []],
    [['G9', 'G2'], ['B']],
    [[], []],
  ])('%j are %j', (names, devices) => {
    expect(selected(names)).toEqual(devices)
  })

  test('are a percentage of the groups', () => {
    expect(selected(['G1'], 0)).toEqual([])
    const all = selected(undefined, 50)
    expect(selected(['G1'], 50)).toEqual(all.filter((device) => groups.get('G1')?.includes(device)))
  })
})
