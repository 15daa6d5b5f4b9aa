import { deviceAddress } from '#actors/device/device'
import { directoryAddress } from '#actors/directory/commands'
import { rowById } from '#actors/directory/queries'
import { tenantAddress } from '#actors/tenant/commands'
import { idOfCrn } from '#model/crn'
import type { Entry } from '#model/entry'
import type { MembersOf } from '#model/group'
import { isPermitted, reachesDevice, type Scope, servicesWithin } from '#model/scope'
import { mayReadAll } from '#model/subscription'
import type { RunContext, RunData } from '#notifications/mail-data'
import type { System } from '#runtime/system'

/** The reader of a mail or webhook. */
export interface Reader {
  readonly tenant: string
  readonly scope: Scope
  readonly membersOf: MembersOf
}

/** Names and metadata, as far as the reader may read them. @throws Problem `storage` */
export function runContextOf(
  system: System<Entry>,
  { tenant, scope, membersOf }: Reader,
  functionName: string,
  { device, cause }: Pick<RunData, 'device' | 'cause'>,
): RunContext {
  const { alarms, schemas } = system.wake(tenantAddress(tenant))
  const schema =
    cause.on === 'property' && servicesWithin(scope, 'schemas', 'read')(cause.service)
      ? schemas.get(cause.service)
      : undefined
  const alarm = cause.on === 'alarm' ? alarms.get(cause.alarm) : undefined
  // The reader needs access to all devices of the alarm, not only to this device.
  const mayReadAlarm = alarm && mayReadAll(scope, 'alarms', alarm, membersOf)
  const state = system.peek(deviceAddress(tenant, device))
  // Needs no check, because nothing is sent without permission to read the alarm on this device.
  const acknowledged = cause.on === 'alarm' ? state?.alarms.get(cause.alarm)?.acknowledged : undefined
  const mayReadUsers = isPermitted(scope, 'users', 'read')
  const mayReadMeta = reachesDevice(scope, 'meta', 'read', device)
  return {
    functionName,
    meta: (mayReadMeta && state?.meta) || {},
    ...(schema && { schema }),
    ...(mayReadAlarm && { alarm: { name: alarm.name, severity: alarm.severity } }),
    ...(acknowledged && {
      acknowledged: {
        ...acknowledged,
        name: mayReadUsers ? nameOf(system, tenant, acknowledged.by) : acknowledged.by,
      },
    }),
  }
}

/** The name of a user or an API key; its resource name if it is deleted. */
function nameOf(system: System<Entry>, tenant: string, principal: string): string {
  const [user, key] = [idOfCrn(principal, 'user'), idOfCrn(principal, 'key')]
  const row = user !== undefined ? rowById(system.peek(directoryAddress), user) : undefined
  const apiKey = key !== undefined ? system.wake(tenantAddress(tenant)).apiKeys.get(key) : undefined
  return row?.name ?? apiKey?.name ?? principal
}
