import { recordOnly } from '#actors/record-only'
import type { SweepDone, SweepProgress } from '#actors/tenant/commands'
import { judgedRecord, type StoredJudged, type TenantState } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { answer, type Decision } from '#runtime/actor'

/** Ignored for an alarm without a record: its sweep has ended. */
export function decideSweepProgress(
  { judged }: TenantState,
  { alarm, digest, cursor }: SweepProgress,
): Decision<Entry> {
  const before = judged.get(alarm)
  if (!before) return answer(undefined)
  const value: StoredJudged = { ...before, sweeping: digest, cursor }
  return recordOnly([{ name: judgedRecord(alarm), value }])
}

/** Ignored for an alarm that was created or deleted meanwhile: it has a sweep of its own. */
export function decideSweepDone({ alarms, judged }: TenantState, { alarm, digest }: SweepDone): Decision<Entry> {
  const isGone = digest === ''
  if (!judged.has(alarm) || alarms.has(alarm) === isGone) return answer(undefined)
  const value: StoredJudged | null = isGone ? null : { digest, sweeping: null, cursor: '' }
  return recordOnly([{ name: judgedRecord(alarm), value }])
}
