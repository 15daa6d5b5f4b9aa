import { judgeWhole } from '#actors/device/judge'
import type { DeviceRules } from '#actors/device/judge-report'
import { withJudgement } from '#actors/device/judged'
import type { DeviceState } from '#actors/device/state'
import type { Entry } from '#model/entry'
import { answer, type Decision, record, type Turn } from '#runtime/actor'

/** Until the alarms were read, which is a matter of milliseconds behind the start. */
const againMs = 1_000

/** Some alarm may have waited for long enough. It may not, too: nobody takes a reminder back when a wait ends. */
export function decideDue(state: DeviceState, turn: Turn, rules: DeviceRules): Decision<Entry> {
  if (state.isThere && !rules.isLoaded) return record([], { reminder: turn.now + againMs })
  return decideJudge(state, turn, rules)
}

/** Its alarms may be others than before. */
export function decideJudge(state: DeviceState, turn: Turn, rules: DeviceRules): Decision<Entry> {
  if (!rules.isLoaded) return answer(undefined)
  const judgement = judgeWhole(state, rules.of(turn.tenant), turn.now, turn.reminder())
  if (!judgement) return answer(undefined)
  state.rules = undefined
  return withJudgement(record([]), judgement, rules.counts)
}
