import type { RuleNotices } from '#actors/rule-notices'

/** While the store is being read nobody is told: what was stored is in what is loaded then. */
export function whileServing(rules: RuleNotices, isServing: () => boolean): RuleNotices {
  return {
    alarmChanged(...change) {
      if (isServing()) rules.alarmChanged(...change)
    },
    groupChanged(...change) {
      if (isServing()) rules.groupChanged(...change)
    },
    schemaChanged(...change) {
      if (isServing()) rules.schemaChanged(...change)
    },
  }
}
