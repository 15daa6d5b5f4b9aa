import type { DeviceState, KnownFunctions, KnownRules } from '#actors/device/state'
import type { FunctionRule } from '#rules/function-list'

/** A device was judged as a whole by these rules. Undefined: not by all of its rules, so the next report does it. */
export interface RulesKnown {
  readonly type: 'rules_known'
  readonly rules: KnownRules | undefined
}

/** The changes that functions make at a device without an event. */
export interface FunctionsRun {
  readonly type: 'functions_run'
  /** Those that it is bound to; undefined: as before. */
  readonly functions: KnownFunctions | undefined
  /** How many requests each of them made. Taken from their rates here, because a turn may be refused after `decide`. */
  readonly requests: ReadonlyMap<FunctionRule, number>
  /** Unix ms. */
  readonly at: number
}

/** Most devices have the same rules: one object for all of them is in the processor's cache when the next device reports. */
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
