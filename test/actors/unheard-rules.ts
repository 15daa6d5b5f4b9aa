import type { RuleNotices } from '#actors/rule-notices'

export const unheardRules: RuleNotices = {
  alarmChanged() {},
  groupChanged() {},
  schemaChanged() {},
  functionChanged() {},
  templateChanged() {},
}
