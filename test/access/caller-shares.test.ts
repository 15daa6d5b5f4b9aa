import { describe, expect, test } from 'vitest'
import { anonymous } from '#access/built-in-callers'
import { ByteAllowance } from '#access/byte-allowance'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'
import { ConcurrencyLimit } from '#runtime/fair-queue'

function caller(tenant: string, user: string): Caller {
  return { ...anonymous, tenant, user, session: { kind: 'session', tenant, id: user } }
}

const [ann, bob, cy, other] = [caller('a', 'ann'), caller('a', 'bob'), caller('a', 'cy'), caller('b', 'ann')]

function refusalOf(task: () => void): string | undefined {
  try {
    task()
    return undefined
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return `${error.kind.status} ${error.message}; ${error.headers?.['Retry-After']}`
  }
}

describe('concurrent operations', () => {
  const make = () => new ConcurrencyLimit({ things: 'uploads', perUserMax: 2, perTenantMax: 3 })
  const userFull = '429 at most 2 uploads of one user at the same time; 1'
  const tenantFull = '429 at most 3 uploads of one tenant at the same time; 1'

  test.each<[readonly Caller[], Caller, string | undefined]>([
    [[], ann, undefined],
    [[ann], ann, undefined],
    [[ann, ann], ann, userFull],
    [[ann, ann], bob, undefined],
    [[ann, ann, bob], cy, tenantFull],
    [[ann, ann, bob], other, undefined],
    [[anonymous, anonymous, anonymous], anonymous, undefined],
  ])('are refused at the limits of the user and the tenant: row %#', (entered, next, expected) => {
    const limit = make()
    for (const each of entered) limit.enter(each)
    expect(refusalOf(() => limit.check(next))).toBe(expected)
    for (const each of entered) limit.leave(each)
    expect(refusalOf(() => limit.check(next))).toBeUndefined()
  })
})

describe('bytes over time', () => {
  const fixture = () => {
    const clock = { ms: 0 }
    const allowance = new ByteAllowance({ now: () => clock.ms, of: 'events', bytesMax: 100, perMs: 10_000 })
    const take = (user: Caller, bytes: number) => refusalOf(() => allowance.take(user, bytes))
    return { clock, take }
  }

  test('above the limit delay the next ones until the average is below the limit', () => {
    const { clock, take } = fixture()
    expect([take(ann, 99), take(ann, 51)]).toEqual([undefined, undefined])
    expect(take(ann, 1)).toBe('429 at most 100 bytes of events of one user in 10 s; 6')
    clock.ms = 5_000
    expect(take(ann, 1)).toBe('429 at most 100 bytes of events of one user in 10 s; 1')
    clock.ms = 6_000
    expect([take(ann, 200), take(bob, 1), take(other, 1)]).toEqual([undefined, undefined, undefined])
  })

  test('of all users of a tenant together are limited to four times the limit of one user', () => {
    const { take } = fixture()
    for (const user of [ann, bob, cy, caller('a', 'dan')]) expect(take(user, 100)).toBeUndefined()
    expect(take(caller('a', 'eve'), 1)).toBe('429 at most 400 bytes of events of one tenant in 10 s; 1')
    expect([take(other, 1), take(anonymous, 1_000), take(anonymous, 1)]).toEqual([undefined, undefined, undefined])
  })

  test('of an idle user are limited as at the start, and do not add up', () => {
    const { clock, take } = fixture()
    take(ann, 100)
    clock.ms = 1_000_000
    expect([take(ann, 99), take(ann, 1), take(ann, 1)]).toEqual([undefined, undefined, expect.any(String)])
  })
})
