import { describe, expect, test } from 'vitest'
import { Overflows, RequestRate, rateOfAll, rateOfFunction } from '#rules/request-rate'

/** The number of granted requests: half of the wanted ones are taken at once, the others one by one. */
function takenAt(rate: RequestRate, now: number, wanted = 10_000): number {
  let taken = 0
  while (taken < wanted / 2 && rate.mayTake(now, taken, taken)) taken++
  rate.take(now, taken)
  for (; taken < wanted && rate.mayTake(now, 0, 0); taken++) rate.take(now, 1)
  return taken
}

const start = 1_790_000_000_000

describe('a rate', () => {
  test('grants a burst, and then a number a second up to the burst', () => {
    const rate = rateOfFunction(rateOfAll(), 256, 60)
    expect(takenAt(rate, start)).toBe(256)
    expect(takenAt(rate, start)).toBe(0)
    expect(takenAt(rate, start + 62)).toBe(0)
    expect(takenAt(rate, start + 63)).toBe(1)
    expect(takenAt(rate, start + 1_000)).toBe(15)
    expect(takenAt(rate, start + 11_000)).toBe(160)
    expect(takenAt(rate, start + 3_600_000)).toBe(256)
  })

  test('grants twice the number of mails if that exceeds the minimum', () => {
    const rate = rateOfFunction(rateOfAll(), 4_096, 90_000)
    expect(takenAt(rate, start)).toBe(4_096)
    expect(takenAt(rate, start + 1_000)).toBe(50)
  })

  test('checks without taking', () => {
    const rate = rateOfFunction(new RequestRate(undefined, 2, 1), 3, 60)
    expect([rate.mayTake(start, 1, 1), rate.mayTake(start, 1, 2)]).toEqual([true, false])
    expect(rate.mayTake(start, 0, 0)).toBe(true)
    expect(takenAt(rate, start)).toBe(2)
  })

  test('continues after the clock was set back', () => {
    const rate = new RequestRate(undefined, 10, 1)
    expect(takenAt(rate, start)).toBe(10)
    expect(takenAt(rate, start - 9_000)).toBe(0)
    expect(takenAt(rate, start - 3_600_000)).toBe(10)
    expect(takenAt(rate, start - 3_600_000 + 2_000)).toBe(2)
    expect(takenAt(rate, start)).toBe(10)
  })

  test('is limited by the shared rate, and a refusal takes nothing', () => {
    const all = new RequestRate(undefined, 15, 10)
    const [one, other] = [new RequestRate(all, 10, 5), new RequestRate(all, 10, 5)]
    expect([takenAt(one, start), takenAt(other, start)]).toEqual([10, 5])
    expect([takenAt(other, start), takenAt(one, start)]).toEqual([0, 0])
    // Five of its own are left, because the refusals took none.
    expect(takenAt(other, start + 1_000)).toBe(10)
    expect(takenAt(one, start + 1_000)).toBe(0)
  })

  test('for all functions has its limits', () => {
    const all = rateOfAll()
    expect(takenAt(all, start)).toBe(8_192)
    expect(takenAt(all, start + 1_000)).toBe(500)
  })
})

describe('requests above the rate', () => {
  test('are reported once for each function', () => {
    const overflows = new Overflows()
    for (const [tenant, fn] of ['a 1', 'a 2', 'b 1', 'a 1'].map((both) => both.split(' '))) {
      overflows.add(tenant as string, fn as string, 1)
    }
    expect(overflows.drain()).toMatchObject([
      { tenant: 'a', function: '1', count: 2 },
      { tenant: 'a', function: '2', count: 1 },
      { tenant: 'b', function: '1', count: 1 },
    ])
    expect(overflows.drain()).toEqual([])
  })

  test('are forgotten with their function or tenant', () => {
    const overflows = new Overflows()
    for (const fn of ['1', '2']) for (const tenant of ['a', 'b']) overflows.add(tenant, fn, 1)
    overflows.forget('a', '1')
    overflows.forget('none', '1')
    overflows.forgetTenant('b')
    expect(overflows.drain()).toMatchObject([{ tenant: 'a', function: '2', count: 1 }])
  })
})
