import type { Target } from '#bench/proof/jazzer/target'
import * as alarmConditions from '#bench/proof/jazzer/targets/alarm-conditions'
import * as filters from '#bench/proof/jazzer/targets/filters'
import * as functionConditions from '#bench/proof/jazzer/targets/function-conditions'
import * as linkJson from '#bench/proof/jazzer/targets/link-json'
import * as linkMsgpack from '#bench/proof/jazzer/targets/link-msgpack'
import * as msgpack from '#bench/proof/jazzer/targets/msgpack'
import * as proofs from '#bench/proof/jazzer/targets/proofs'
import * as templates from '#bench/proof/jazzer/targets/templates'
import * as tokens from '#bench/proof/jazzer/targets/tokens'

/** By the names of their files. */
export const targets: Readonly<Record<string, Target>> = {
  'link-json': linkJson,
  'link-msgpack': linkMsgpack,
  msgpack,
  proofs,
  tokens,
  filters,
  templates,
  'function-conditions': functionConditions,
  'alarm-conditions': alarmConditions,
}
