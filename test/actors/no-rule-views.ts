import type { DeviceRules } from '#actors/device/report-evaluation'

export const noRuleViews: DeviceRules = {
  of: () => undefined,
  isLoaded: true,
  counts: { transitions: 0 },
  skipped() {},
}
