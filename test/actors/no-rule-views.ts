import type { DeviceRules } from '#actors/device/report-evaluation'

/** A tenant without alarms. */
export const noRuleViews: DeviceRules = {
  of: () => undefined,
  isLoaded: true,
  counts: { transitions: 0 },
  skipped() {},
}
