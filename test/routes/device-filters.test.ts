import { expect, test } from 'vitest'
import { DeviceFilters } from '#routes/devices'

const over = (floor: number) => ({ '>': [{ var: 'meta.floor' }, floor] })

test('a filter is compiled once for all callers while it is in use', () => {
  const filters = new DeviceFilters()
  const first = filters.of(over(0))
  expect(filters.of(JSON.parse(JSON.stringify(over(0))))).toBe(first)
  const second = filters.of(over(1))
  for (let floor = 2; floor < 65; floor++) {
    filters.of(over(floor))
    filters.of(over(0))
  }
  expect(filters.of(over(0))).toBe(first)
  expect(filters.of(over(1))).not.toBe(second)
})
