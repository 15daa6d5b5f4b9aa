import { beforeEach, describe, expect, test } from 'vitest'
import { Attempts, addressGroupOf } from '#access/attempts'
import { Problem } from '#model/problem'
import { ManualWorld } from '#test/runtime/manual-world'

let world: ManualWorld
let attempts: Attempts

beforeEach(() => {
  world = new ManualWorld()
  attempts = new Attempts({ now: () => world.now(), isOn: true })
})

/** The seconds to wait before the next attempt; 0 if it is allowed now. */
function waitS(address: string, account?: string): number {
  try {
    attempts.check(address, account)
    return 0
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    expect(error).toMatchObject({ code: 'too_many_requests', message: 'too many attempts' })
    return Number(error.headers?.['Retry-After'])
  }
}

type Named<Name> = Name | ((index: number) => Name)

function recordFailures(times: number, address: Named<string>, account: Named<string | undefined>): void {
  const nameOf = <Name>(named: Named<Name>, index: number): Name =>
    typeof named === 'function' ? (named as (index: number) => Name)(index) : named
  for (let index = 0; index < times; index++)
    attempts.recordFailure(nameOf(address, index), ...[nameOf(account, index) ?? []].flat())
}

describe('failed attempts', () => {
  test.each([
    ['10 of one account at one address', 10, () => '10.0.0.1', () => 'ann'],
    ['60 at one address', 60, () => '10.0.0.1', (index: number) => `user ${index}`],
    ['60 at one address for unknown names', 60, () => '10.0.0.1', () => undefined],
    ['100 of one account', 100, (index: number) => `10.0.${index}.1`, () => 'ann'],
  ])('are refused after %s', (_, times, address, account) => {
    recordFailures(times - 1, address, account)
    expect(waitS('10.0.0.1', 'ann')).toBe(0)
    recordFailures(1, address(times - 1), account(times - 1))
    expect(waitS('10.0.0.1', 'ann')).toBe(60)
  })

  test('do not delay other accounts', () => {
    recordFailures(10, '10.0.0.1', 'ann')
    expect([waitS('10.0.0.1', 'bob'), waitS('10.0.0.2', 'ann'), waitS('10.0.0.1')]).toEqual([0, 0, 0])
    recordFailures(50, '10.0.0.1', 'carl')
    expect([waitS('10.0.0.1', 'bob'), waitS('10.0.0.2', 'ann'), waitS('10.0.0.1')]).toEqual([60, 0, 60])
  })

  test.each([
    [1, 60],
    [1_000, 59],
    [59_001, 1],
    [59_999, 1],
    [60_000, 0],
  ])('at the limit, %i ms after the first one, delay the next attempt by %i s', (ms, seconds) => {
    attempts.recordFailure('10.0.0.1', 'ann')
    world.spend(ms)
    recordFailures(9, '10.0.0.1', 'ann')
    expect(waitS('10.0.0.1', 'ann')).toBe(seconds)
  })

  test('start again at zero in the next window', () => {
    recordFailures(10, '10.0.0.1', 'ann')
    world.spend(60_000)
    recordFailures(9, '10.0.0.1', 'ann')
    expect(waitS('10.0.0.1', 'ann')).toBe(0)
    recordFailures(1, '10.0.0.1', 'ann')
    expect(waitS('10.0.0.1', 'ann')).toBe(60)
  })

  test('with a password that another account accepts count for the account, not for the address', () => {
    for (let count = 0; count < 100; count++) attempts.recordAccountFailure('10.0.0.1', `user ${count % 11}`)
    expect([waitS('10.0.0.1', 'bob'), waitS('10.0.0.1')]).toEqual([0, 0])
    for (let count = 0; count < 10; count++) attempts.recordAccountFailure('10.0.0.1', 'ann')
    expect([waitS('10.0.0.1', 'ann'), waitS('10.0.0.2', 'ann'), waitS('10.0.0.1', 'bob')]).toEqual([60, 0, 0])
  })

  test('on several accounts at once count once for the address', () => {
    for (let count = 0; count < 10; count++) attempts.recordFailure('10.0.0.1', 'ann', 'bob')
    expect([waitS('10.0.0.1', 'ann'), waitS('10.0.0.1', 'bob'), waitS('10.0.0.1')]).toEqual([60, 60, 0])
    for (let count = 0; count < 49; count++) attempts.recordFailure('10.0.0.1', 'cid', 'dan')
    expect(waitS('10.0.0.1')).toBe(0)
    attempts.recordFailure('10.0.0.1', 'cid', 'dan')
    expect(waitS('10.0.0.1')).toBe(60)
  })

  test('delay the next attempt until the last of the exceeded limits ends', () => {
    recordFailures(50, '10.0.0.1', (index) => `user ${index}`)
    world.spend(30_000)
    recordFailures(10, '10.0.0.1', 'ann')
    expect([waitS('10.0.0.1', 'ann'), waitS('10.0.0.1', 'bob')]).toEqual([60, 30])
  })

  test('delay no attempt after the clock is set back', () => {
    recordFailures(10, '10.0.0.1', 'ann')
    world.spend(-3_600_000)
    expect(waitS('10.0.0.1', 'ann')).toBe(0)
  })

  test('are not counted when limits are off', () => {
    attempts = new Attempts({ now: () => world.now(), isOn: false })
    recordFailures(1_000, '10.0.0.1', 'ann')
    expect(waitS('10.0.0.1', 'ann')).toBe(0)
    expect(attempts.sizes).toEqual({ accountAndAddress: 0, address: 0, account: 0 })
  })

  test('of an IPv6 network count together', () => {
    recordFailures(60, (index) => `2001:db8:0:1::${index.toString(16)}`, undefined)
    expect(waitS('2001:db8:0:1:ffff:ffff:ffff:ffff')).toBe(60)
    expect(waitS('2001:db8:0:2::1')).toBe(0)
  })

  test('with many names and addresses stay within the memory limit', () => {
    for (let index = 0; index < 70_000; index++) attempts.recordFailure(`10.0.${index}`, `name ${index}`)
    expect(attempts.sizes).toEqual({ accountAndAddress: 65_536, address: 65_536, account: 65_536 })
  })

  test('that no longer count are dropped at the next failed attempt', () => {
    for (let index = 0; index < 100; index++) attempts.recordFailure(`10.0.${index}.1`, `name ${index}`)
    world.spend(59_999)
    attempts.recordFailure('10.1.0.1', 'late')
    expect(attempts.sizes).toEqual({ accountAndAddress: 101, address: 101, account: 101 })
    world.spend(1)
    attempts.recordFailure('10.2.0.1', 'next')
    expect(attempts.sizes).toEqual({ accountAndAddress: 2, address: 2, account: 2 })
  })

  test('with very long names are counted by the beginning of the name', () => {
    const name = (suffix: string) => 'x'.repeat(256) + suffix
    recordFailures(100, (index) => `10.0.${index}.1`, name('a'.repeat(100_000)))
    expect(waitS('10.1.1.1', name('b'))).toBe(60)
  })
})

test.each([
  ['10.0.0.1', '10.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['::1', '0:0:0:0::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:DB8:0:0:1:2:3:4', '2001:db8:0:0::/64'],
  ['2001:0db8:0000:0001::1', '2001:db8:0:1::/64'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2:3:4:5::', '2001:db8:1:2::/64'],
  ['::', '0:0:0:0::/64'],
  ['', ''],
  ['unknown', 'unknown'],
  ['UNKNOWN:1', 'unknown:1'],
  ['x'.repeat(100), 'x'.repeat(64)],
])('failed attempts from %s count for the address group %s', (address, group) => {
  expect(addressGroupOf(address)).toBe(group)
})
