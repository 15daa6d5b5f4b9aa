import type { DeviceRules } from '#actors/device/evaluate-report'

/** A tenant without alarms. */
export const noRuleViews: DeviceRules = {
  of: () => undefined,
  isLoaded: true,
  counts: { transitions: 0 },
  skipped() {},
}
