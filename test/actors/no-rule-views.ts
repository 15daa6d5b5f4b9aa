import type { DeviceRules } from '#actors/device/judge-report'

/** Where nobody has alarms. */
export const noRuleViews: DeviceRules = {
  of: () => undefined,
  isLoaded: true,
  counts: { transitions: 0 },
  skipped() {},
}
