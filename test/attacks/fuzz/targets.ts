import type { Target } from '#test/attacks/fuzz/target'
import * as alarmConditions from '#test/attacks/fuzz/targets/alarm-conditions'
import * as filters from '#test/attacks/fuzz/targets/filters'
import * as functionConditions from '#test/attacks/fuzz/targets/function-conditions'
import * as msgpack from '#test/attacks/fuzz/targets/msgpack'
import * as tokens from '#test/attacks/fuzz/targets/tokens'

export const targets: Readonly<Record<string, Target>> = {
  msgpack,
  tokens,
  filters,
  'function-conditions': functionConditions,
  'alarm-conditions': alarmConditions,
}
