import { expect, test } from 'vitest'
import { nextOf } from '#actors/device/evaluation'
import type { AlarmState } from '#actors/device/state'

const now = 100_000
const never: AlarmState = { isActive: false, since: 0, waitingSince: 0 }
const waits: AlarmState = { isActive: false, since: 0, waitingSince: now - 4_000 }
const active: AlarmState = { isActive: true, since: 7, waitingSince: 0 }
const inactive: AlarmState = { isActive: false, since: 9, waitingSince: 0 }
const again: AlarmState = { ...inactive, waitingSince: now - 4_000 }

/** `same`: the same object. */
test.each<
  readonly [verdict: boolean | undefined, stands: AlarmState, forMs: number, next: Partial<AlarmState> | 'same']
>([
  [true, never, 0, { isActive: true, since: now }],
  [true, never, 1, { waitingSince: now }],
  [true, inactive, 0, { isActive: true, since: now }],
  [true, inactive, 5_000, { since: 9, waitingSince: now }],
  [true, waits, 4_001, 'same'],
  [true, waits, 4_000, { isActive: true, since: now }],
  [true, waits, 3_000, { isActive: true, since: now - 1_000 }],
  [true, waits, 0, { isActive: true, since: now - 4_000 }],
  [true, again, 4_001, 'same'],
  [true, again, 4_000, { isActive: true, since: now }],
  [true, active, 0, 'same'],
  [true, active, 5_000, 'same'],
  [false, never, 0, 'same'],
  [false, never, 5_000, 'same'],
  [false, inactive, 0, 'same'],
  [false, waits, 4_001, {}],
  [false, waits, 3_000, {}],
  [false, again, 4_001, { since: 9 }],
  [false, active, 0, { since: now }],
  [false, active, 5_000, { since: now }],
  ...[never, waits, active, inactive, again].flatMap((stands) =>
    [0, 4_000, 5_000].map((forMs) => [undefined, stands, forMs, 'same'] as const),
  ),
])('%s with state %o and duration %d ms gives %o', (verdict, stands, forMs, next) => {
  const found = nextOf(verdict, stands, now, { forMs, conditionAt: 0 })
  if (next === 'same') expect(found).toBe(stands)
  else expect(found).toEqual({ ...never, ...next })
})

test.each<readonly [stands: AlarmState, conditionAt: number, next: Partial<AlarmState> | 'same']>([
  [waits, now - 4_000, { isActive: true, since: now }],
  [waits, now - 3_999, { waitingSince: now - 3_999 }],
  [waits, now, { waitingSince: now }],
  [again, now, { since: 9, waitingSince: now }],
  [{ ...waits, waitingSince: now - 3_000 }, now - 3_500, 'same'],
  [never, now - 5_000, { waitingSince: now }],
  [active, now, 'same'],
])('state %o with a condition from %d and a duration of 4 s gives %o', (stands, conditionAt, next) => {
  const found = nextOf(true, stands, now, { forMs: 4_000, conditionAt })
  if (next === 'same') expect(found).toBe(stands)
  else expect(found).toEqual({ ...never, ...next })
})
