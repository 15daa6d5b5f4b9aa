import { keep } from '#actors/kept'
import type { SweepDone, SweepProgress } from '#actors/tenant/commands'
import { judgedRecord, type StoredJudged, type TenantState } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { answer, type Decision } from '#runtime/actor'

/** Of an alarm that nothing is left of it says nothing: its sweep ended before. */
export function decideSweepProgress(
  { judged }: TenantState,
  { alarm, digest, cursor }: SweepProgress,
): Decision<Entry> {
  const before = judged.get(alarm)
  if (!before) return answer(undefined)
  const value: StoredJudged = { ...before, sweeping: digest, cursor }
  return keep([{ name: judgedRecord(alarm), value }])
}

/** Of an alarm that came to be, or ceased to be, meanwhile it says nothing: that has a sweep of its own. */
export function decideSweepDone({ alarms, judged }: TenantState, { alarm, digest }: SweepDone): Decision<Entry> {
  const isGone = digest === ''
  if (!judged.has(alarm) || alarms.has(alarm) === isGone) return answer(undefined)
  const value: StoredJudged | null = isGone ? null : { digest, sweeping: null, cursor: '' }
  return keep([{ name: judgedRecord(alarm), value }])
}
