import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Problem } from '#client/client'
import { type FetchFleetPage, type FleetResult, FleetSearch, identifiersMax } from '#dashboard/pages/fleet/fleet-search'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** A search with a simple server, which knows the devices that match. */
class Fixture {
  readonly matching: Set<string>
  readonly asked: Parameters<FetchFleetPage>[0][] = []
  readonly results: FleetResult[] = []
  failure: Error | undefined
  readonly search: FleetSearch

  constructor(matching: Iterable<string> = []) {
    this.matching = new Set(matching)
    const ask: FetchFleetPage = async (query) => {
      this.asked.push(query)
      if (this.failure) throw this.failure
      const { limit, cursor = '', deviceIdentifier } = query
      const found = [...this.matching]
        .filter((each) => each > cursor && (deviceIdentifier?.includes(each) ?? true))
        .sort()
      const identifiers = found.slice(0, limit)
      return { identifiers, cursor: found.length > limit ? identifiers.at(-1) : undefined }
    }
    this.search = new FleetSearch({ search: 'x' }, ask, (result) => this.results.push(result))
  }

  get shown() {
    return this.results.at(-1)
  }
}

const named = (count: number) => Array.from({ length: count }, (_, number) => `D-${String(number).padStart(6, '0')}`)

test('the first rows are shown at once, and more are read in larger pages', async () => {
  const fixture = new Fixture(named(6_000))
  await vi.advanceTimersByTimeAsync(0)
  expect(fixture.asked).toEqual([
    { search: 'x', limit: 100 },
    { search: 'x', limit: 5_000, cursor: 'D-000099' },
    { search: 'x', limit: 5_000, cursor: 'D-005099' },
  ])
  expect(fixture.results.map(({ identifiers, isComplete }) => [identifiers?.length, isComplete])).toEqual([
    [100, false],
    [5_100, false],
    [6_000, false],
    [6_000, true],
  ])
})

test('the search keeps a limited number of devices', async () => {
  const fixture = new Fixture(named(identifiersMax + 10))
  await vi.advanceTimersByTimeAsync(0)
  expect([fixture.shown?.identifiers?.length, fixture.shown?.isComplete]).toEqual([identifiersMax, false])
  fixture.search.check('D-999999')
  fixture.search.check('A')
  fixture.matching.add('A')
  await vi.advanceTimersByTimeAsync(1_000)
  expect(fixture.asked.at(-1)).toEqual({ search: 'x', limit: 50, deviceIdentifier: ['A'] })
  expect(fixture.shown?.identifiers?.[0]).toBe('A')
})

test('if devices are checked after each change, the shown devices are those that match', async () => {
  const devices = ['A', 'B', 'C', 'D', 'E', 'F']
  const step = fc.record({ device: fc.constantFrom(...devices), waitMs: fc.constantFrom(0, 0, 0, 300, 1_000) })
  await fc.assert(
    fc.asyncProperty(fc.subarray(devices), fc.array(step, { maxLength: 30 }), async (first, steps) => {
      const fixture = new Fixture(first)
      for (const { device, waitMs } of steps) {
        if (!fixture.matching.delete(device)) fixture.matching.add(device)
        fixture.search.check(device)
        if (waitMs > 0) await vi.advanceTimersByTimeAsync(waitMs)
      }
      await vi.advanceTimersByTimeAsync(5_000)
      expect(fixture.shown).toEqual({ identifiers: [...fixture.matching].sort(), isComplete: true })
    }),
  )
})

test('after very many changes, all devices are read again, but not often', async () => {
  const fixture = new Fixture()
  await vi.advanceTimersByTimeAsync(0)
  for (const device of named(501)) {
    fixture.matching.add(device)
    fixture.search.check(device)
  }
  await vi.advanceTimersByTimeAsync(9_000)
  expect(fixture.asked).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(2_000)
  expect(fixture.asked.slice(1).map(({ limit }) => limit)).toEqual([100, 5_000])
  expect(fixture.shown?.identifiers).toHaveLength(501)
})

test('a failed query is shown and repeated, unless the query is wrong', async () => {
  const fixture = new Fixture(['A'])
  fixture.failure = new Problem(503, undefined)
  fixture.search.readAgain()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(fixture.shown?.problem).toBe(fixture.failure)
  fixture.failure = undefined
  await vi.advanceTimersByTimeAsync(10_000)
  expect(fixture.shown).toEqual({ identifiers: ['A'], isComplete: true })
  fixture.failure = new Problem(400, undefined)
  fixture.search.readAgain()
  await vi.advanceTimersByTimeAsync(100_000)
  expect([fixture.shown?.problem, fixture.asked.length]).toEqual([fixture.failure, 4])
  fixture.search.stop()
})
