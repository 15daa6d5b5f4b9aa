import { expect, test } from 'vitest'
import { nextAlarmState } from '#actors/device/evaluation'
import type { AlarmState } from '#actors/device/state'

const now = 100_000
const never: AlarmState = { isActive: false, since: 0, waitingSince: 0 }
const waits: AlarmState = { isActive: false, since: 0, waitingSince: now - 4_000 }
const active: AlarmState = { isActive: true, since: 7, waitingSince: 0 }
const again: AlarmState = { ...waits, since: 9 }

/** `same` means that the result is the same object. `alarms-model.test.ts` tests conditions that do not change. */
test.each<readonly [stored: AlarmState, conditionAt: number, next: Partial<AlarmState> | 'same']>([
  [waits, now - 4_000, { isActive: true, since: now }],
  [waits, now - 3_999, { waitingSince: now - 3_999 }],
  [waits, now, { waitingSince: now }],
  [again, now, { since: 9, waitingSince: now }],
  [{ ...waits, waitingSince: now - 3_000 }, now - 3_500, 'same'],
  [never, now - 5_000, { waitingSince: now }],
  [active, now, 'same'],
])('state %o with a true condition that was set at %d becomes %o', (stored, conditionAt, next) => {
  const found = nextAlarmState(true, stored, now, { forMs: 4_000, conditionAt })
  if (next === 'same') expect(found).toBe(stored)
  else expect(found).toEqual({ ...never, ...next })
})

test('an inactive alarm that does not wait stays the same object without a true condition', () => {
  for (const verdict of [false, undefined])
    expect(nextAlarmState(verdict, never, now, { forMs: 0, conditionAt: 0 })).toBe(never)
})
