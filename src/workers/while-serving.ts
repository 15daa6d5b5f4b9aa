import type { AlarmNotices, FunctionNotices, RuleNotices } from '#actors/rule-notices'

/**
 * Tells alarms and functions what concerns them. While the store is being read nobody is told: what was stored is in what
 * is loaded then.
 */
export function bothViews(alarms: AlarmNotices, functions: FunctionNotices, isServing: () => boolean): RuleNotices {
  return {
    alarmChanged(...change) {
      if (isServing()) alarms.alarmChanged(...change)
    },
    groupChanged(...change) {
      if (!isServing()) return
      alarms.groupChanged(...change)
      functions.groupChanged(...change)
    },
    schemaChanged(...change) {
      if (isServing()) alarms.schemaChanged(...change)
    },
    functionChanged(...change) {
      if (isServing()) functions.functionChanged(...change)
    },
    templateChanged(...change) {
      if (isServing()) functions.templateChanged(...change)
    },
  }
}
