import type { DeviceState, KnownFunctions, KnownRules } from '#actors/device/state'
import type { FunctionRule } from '#rules/function-list'

/** The device was judged by all of these rules. Undefined: not by all of its rules, so the next report judges all. */
export interface RulesKnown {
  readonly type: 'rules_known'
  readonly rules: KnownRules | undefined
}

/** Changes that functions make to a device without an event. */
export interface FunctionsRun {
  readonly type: 'functions_run'
  /** The functions bound to the device; undefined: unchanged. */
  readonly functions: KnownFunctions | undefined
  /**
   * Number of requests by function. Taken from the rates here and not in `decide`, because a turn may be refused after
   * `decide`.
   */
  readonly requests: ReadonlyMap<FunctionRule, number>
  /** Unix ms. */
  readonly at: number
}

/** Most devices have the same rules. Sharing one object keeps it in the processor's cache for the next device. */
let lastRules: KnownRules | undefined
let lastFunctions: KnownFunctions | undefined

export function applyRulesKnown(state: DeviceState, { rules }: RulesKnown): void {
  if (rules && isOther(lastRules, rules)) lastRules = rules
  state.rules = rules && lastRules
}

export function applyFunctionsRun(state: DeviceState, { functions, requests, at }: FunctionsRun): void {
  if (functions) {
    if (isOther(lastFunctions, functions)) lastFunctions = functions
    state.functions = lastFunctions
  }
  for (const [{ rate }, count] of requests) rate.take(at, count)
}

function isOther<Known extends { readonly version: number; readonly list: unknown }>(
  last: Known | undefined,
  known: Known,
): boolean {
  return last?.version !== known.version || last.list !== known.list
}
