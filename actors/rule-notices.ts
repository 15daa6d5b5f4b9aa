import type { StoredAlarm } from '#model/alarm'
import type { StoredFunction } from '#model/function'
import type { StoredGroup } from '#model/group'
import type { ServiceSchema } from '#model/service-schema'
import type { StoredTemplate } from '#model/template'

/**
 * Notices for alarms and functions about stored changes that affect them. Called as effects: after the commit, with the
 * committed value. Undefined: deleted.
 */
export interface RuleNotices {
  alarmChanged(tenant: string, id: string, stored: StoredAlarm | undefined): void
  groupChanged(tenant: string, id: string, stored: StoredGroup | undefined): void
  schemaChanged(tenant: string, service: string, schema: ServiceSchema | undefined): void
  functionChanged(tenant: string, id: string, stored: StoredFunction | undefined): void
  templateChanged(tenant: string, name: string, stored: StoredTemplate | undefined): void
}
