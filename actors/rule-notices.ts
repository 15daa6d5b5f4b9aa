import type { StoredAlarm } from '#model/alarm'
import type { StoredGroup } from '#model/group'
import type { ServiceSchema } from '#model/service-schema'

/**
 * What those who judge devices by alarms are told when something that decides is stored. Called as effects: after the
 * commit, with what that commit holds. Undefined: it is no more.
 */
export interface RuleNotices {
  alarmChanged(tenant: string, id: string, stored: StoredAlarm | undefined): void
  groupChanged(tenant: string, id: string, stored: StoredGroup | undefined): void
  schemaChanged(tenant: string, service: string, schema: ServiceSchema | undefined): void
}

/** Where nobody judges. */
export const unheardRules: RuleNotices = { alarmChanged() {}, groupChanged() {}, schemaChanged() {} }
