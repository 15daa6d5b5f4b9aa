import type { AlarmsJudged } from '#actors/device/alarms'
import { type Judgement, judgeWhole, rulesKnown, withKnownRules } from '#actors/device/judge'
import type { DeviceRules } from '#actors/device/judge-report'
import type { DeviceState } from '#actors/device/state'
import { stateAfter } from '#actors/device/state-after'
import type { DeviceChange } from '#actors/device/state-changes'
import type { Entry } from '#model/entry'
import { noRules } from '#rules/rule-list'
import type { Decision, Recorded, Turn } from '#runtime/actor'

/**
 * Adds the results of a judgement to a decision, in the same commit. Results without an event are stored with the
 * snapshot at once, because no entry contains them.
 */
export function withJudgement(
  recorded: Recorded<Entry>,
  { entries, waiting, forgotten, indexes, reminder, known, skipped }: Judgement,
  { tenant, device }: { readonly tenant: string; readonly device: string },
  rules: DeviceRules,
): Recorded<Entry> {
  const judged: AlarmsJudged = { type: 'alarms_judged', waiting, forgotten }
  const isWithoutReport = waiting.length > 0 || forgotten.length > 0
  const count = () => {
    rules.counts.transitions += entries.length
    if (skipped) rules.skipped(tenant, device, skipped)
  }
  return {
    ...recorded,
    events: [...recorded.events, ...entries],
    indexes: [...(recorded.indexes ?? []), ...indexes],
    ...((isWithoutReport || known) && {
      changes: [...(recorded.changes ?? []), ...(isWithoutReport ? [judged] : []), ...(known ? [known] : [])],
    }),
    ...(isWithoutReport && { isCheckpointed: true }),
    ...(reminder !== undefined && { reminder }),
    ...((entries.length > 0 || skipped) && { effects: [...(recorded.effects ?? []), count] }),
  }
}

/** Judges a device once after all entries of a turn. Of several reports only the final values count. */
export function judgedAfter(
  state: DeviceState,
  decision: Decision<Entry>,
  turn: Turn,
  rules: DeviceRules,
): Decision<Entry> {
  if (decision.type !== 'record' || !rules.isLoaded) return decision
  const view = rules.of(turn.tenant)
  const list = view?.listOf(state.device) ?? noRules
  const known = rulesKnown(state, view, list)
  if (state.alarms.size === 0 && list === noRules && !known) return decision
  const after = stateAfter(state, decision.events, decision.changes as readonly DeviceChange[] | undefined)
  const judgement = judgeWhole(after, view, turn.now, turn.reminder())
  if (!judgement && !known) return decision
  return withJudgement(decision, withKnownRules(judgement, known), { tenant: turn.tenant, device: state.device }, rules)
}
