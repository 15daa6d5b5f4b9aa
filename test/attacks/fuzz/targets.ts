import { linkJson, linkMsgpack } from '#test/attacks/fuzz/link-frame'
import type { Target } from '#test/attacks/fuzz/target'
import * as alarmConditions from '#test/attacks/fuzz/targets/alarm-conditions'
import * as filters from '#test/attacks/fuzz/targets/filters'
import * as functionConditions from '#test/attacks/fuzz/targets/function-conditions'
import * as msgpack from '#test/attacks/fuzz/targets/msgpack'
import * as tokens from '#test/attacks/fuzz/targets/tokens'

export const targets: Readonly<Record<string, Target>> = {
  'link-json': linkJson,
  'link-msgpack': linkMsgpack,
  msgpack,
  tokens,
  filters,
  'function-conditions': functionConditions,
  'alarm-conditions': alarmConditions,
}
