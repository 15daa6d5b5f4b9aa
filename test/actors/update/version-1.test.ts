import { expect, test } from 'vitest'
import { installingMsMax } from '#actors/update/machine'
import { fromVersion1 } from '#actors/update/version-1'
import { ActingUpdate } from '#test/actors/update/acting-update'

/** As the first version stored it. */
function stored1(acting: ActingUpdate, attempts: object | null): object {
  const { context, ...others } = acting.stands
  const { installsUntil: _, ...context1 } = context
  return { ...others, machine: 1, context: context1, attempts }
}

const attempts = { firmware: '2.0.0', index: 0, rollout: 'R', count: 2, nextAt: 5 }

test('an installation that goes on has its day from when it was told of last', () => {
  const acting = ActingUpdate.behind('INSTALLING')
  const led = fromVersion1(stored1(acting, { ...attempts, nextAt: null }))
  const { toldAt } = acting.stands.context
  expect(led.context).toEqual({ ...acting.stands.context, installsUntil: toldAt + installingMsMax })
  expect(fromVersion1(stored1(ActingUpdate.behind('STARTED'), null)).context.installsUntil).toBe(0)
})

test.each([
  ['hook', 'hook'],
  ['cron', 'cron'],
  // Asked for by hand since, and there was nothing: that is not how it is tried again.
  ['post', 'connect'],
] as const)('attempts of an update by %s are those of one by %s', (by, led) => {
  const acting = ActingUpdate.offering({ by })
  expect(fromVersion1(stored1(acting, attempts)).attempts).toEqual([{ ...attempts, by: led, doneAt: null }])
  expect(fromVersion1(stored1(acting, null)).attempts).toEqual([])
})
