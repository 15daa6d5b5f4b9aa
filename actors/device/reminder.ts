import { judgeAgainMs, judgeWhole, rulesKnown, withKnownRules } from '#actors/device/judge'
import { type DeviceRules, withJudgement } from '#actors/device/judge-report'
import type { DeviceState } from '#actors/device/state'
import type { Entry } from '#model/entry'
import { noRules } from '#rules/rule-list'
import { answer, type Decision, record, type Turn } from '#runtime/actor'

/** An alarm may have waited long enough. Not always: a reminder is not cancelled when a wait ends early. */
export function decideDue(state: DeviceState, turn: Turn, rules: DeviceRules): Decision<Entry> {
  if (state.isThere && !rules.isLoaded) return record([], { reminder: turn.now + judgeAgainMs })
  return decideJudge(state, turn, rules)
}

/** The alarms of the device may have changed. */
export function decideJudge(state: DeviceState, turn: Turn, rules: DeviceRules): Decision<Entry> {
  if (!rules.isLoaded) return answer(undefined)
  const view = rules.of(turn.tenant)
  const judgement = judgeWhole(state, view, turn.now, turn.reminder())
  if (!judgement) return answer(undefined)
  const { device } = state
  const known = rulesKnown(state, view, view?.listOf(device) ?? noRules)
  return withJudgement(record([]), withKnownRules(judgement, known), { tenant: turn.tenant, device }, rules)
}
