import type { LiveMap } from '#client/observable'
import type { Item } from '#client/routes'
import { type AlarmStatus, alarmKey, type FirmwareView, type Schema, type Subscription } from '#client/state'
import type { ListKind } from '#client/synced-list'
import type { Severity } from '#model/alarm'
import type { EventOf, EventType, StreamEvent } from '#model/event'
import type { FirmwareEntry, UpdateEntry } from '#model/firmware'

/** The fields of a list that is kept in one map. The map holds `valueIn` of each entry, if it is defined. */
function mapList<Value, Entry = Value>(
  map: LiveMap<string, Value>,
  keyOf: (fields: Entry) => string,
  valueIn: (entry: Entry) => Value | undefined,
) {
  return {
    entries: map,
    query: {},
    keyOfEvent: (event: StreamEvent) => keyOf(event as unknown as Entry),
    store(entries: readonly unknown[]) {
      const keys = (entries as readonly Entry[]).map((entry) => {
        const value = valueIn(entry)
        if (value !== undefined) map.set(keyOf(entry), value)
        return keyOf(entry)
      })
      // Without `weightPerPage`, the weight is not used.
      return { keys, weight: keys.length }
    },
  }
}

/** The schemas of services, by `GET /schemas`. §2.4 */
export function schemaList(map: LiveMap<string, Schema>): ListKind {
  const keyOf = ({ serviceIdentifier }: Pick<Item<'GET /schemas'>, 'serviceIdentifier'>) => serviceIdentifier
  return {
    ...mapList(map, keyOf, ({ schema }: Item<'GET /schemas'>) => schema),
    route: 'GET /schemas',
    query: { depth: 1 },
    firstLimit: 50,
    types: ['SCHEMA_ADD', 'SCHEMA_UPDATE', 'SCHEMA_DELETE'],
    apply(event) {
      const { schema, ...fields } = event as EventOf<'SCHEMA_ADD'>
      if (event.type === 'SCHEMA_DELETE') map.delete(keyOf(fields))
      else map.set(keyOf(fields), schema)
    },
  }
}

/** The status of alarms, by `GET /alarms/status`. Contract 5.3 */
export function alarmList(map: LiveMap<string, AlarmStatus>): ListKind {
  /** The severities that the caller may read, by resource name of the alarm. Status events do not contain them. */
  const severities = new Map<string, Severity>()
  const keyOf = ({ resourceIdentifier, deviceIdentifier }: AlarmStatus) =>
    alarmKey(resourceIdentifier, deviceIdentifier)
  const statusesWhere = (isSelected: (status: AlarmStatus) => boolean) =>
    [...map.entries()].filter(([, status]) => isSelected(status))
  const deleteWhere = (isSelected: (status: AlarmStatus) => boolean) => {
    for (const [key] of statusesWhere(isSelected)) map.delete(key)
  }
  const removeDevice = (device: string) => deleteWhere(({ deviceIdentifier }) => deviceIdentifier === device)

  const applyConfiguration = ({ resourceIdentifier, payload }: EventOf<'ALARM_CONFIG_UPDATE'>) => {
    const { severity } = payload as { readonly severity?: Severity }
    const isOfAlarm = (status: AlarmStatus) => status.resourceIdentifier === resourceIdentifier
    if (severity === undefined) return deleteWhere(isOfAlarm)
    if (severities.get(resourceIdentifier) === severity) return
    severities.set(resourceIdentifier, severity)
    for (const [key, status] of statusesWhere(isOfAlarm)) map.set(key, { ...status, severity })
  }
  const applyStatus = (event: EventOf<'ALARM_STATUS_ACTIVE' | 'ALARM_STATUS_ACKNOWLEDGED'>) => {
    const { resourceIdentifier, deviceIdentifier, since } = event
    const type: EventType = event.type
    const key = alarmKey(resourceIdentifier, deviceIdentifier)
    const before = map.get(key)
    const severity = severities.get(resourceIdentifier)
    const status = { resourceIdentifier, deviceIdentifier, since, ...(severity && { severity }) }
    if (event.type === 'ALARM_STATUS_ACKNOWLEDGED') {
      const { by, timestamp: at, comment = null } = event as EventOf<'ALARM_STATUS_ACKNOWLEDGED'>
      map.set(key, { ...status, active: before?.active ?? true, acknowledged: { by, at, comment } })
    } else {
      const active = type === 'ALARM_STATUS_ACTIVE'
      map.set(key, { ...status, active, acknowledged: (!active && before?.acknowledged) || null })
    }
  }
  return {
    ...mapList(map, keyOf, (status) => {
      if (status.severity) severities.set(status.resourceIdentifier, status.severity)
      return status
    }),
    route: 'GET /alarms/status',
    firstLimit: 2_000,
    types: [
      'ALARM_STATUS_ACTIVE',
      'ALARM_STATUS_INACTIVE',
      'ALARM_STATUS_ACKNOWLEDGED',
      'ALARM_CONFIG_UPDATE',
      'DEVICE_DELETE',
    ],
    // The deletion of an alarm or a device changes several entries.
    keyOfEvent: () => '',
    removeDevice,
    apply(event) {
      if (event.type === 'DEVICE_DELETE') removeDevice((event as EventOf<'DEVICE_DELETE'>).deviceIdentifier)
      else if (event.type === 'ALARM_CONFIG_UPDATE') applyConfiguration(event as EventOf<'ALARM_CONFIG_UPDATE'>)
      else applyStatus(event as EventOf<'ALARM_STATUS_ACTIVE' | 'ALARM_STATUS_ACKNOWLEDGED'>)
    },
  }
}

/** The firmware and updates of devices, by `GET /updates`. §2.7, contract 6 */
export function updateList(map: LiveMap<string, FirmwareView>): ListKind {
  const keyOf = ({ deviceIdentifier }: Pick<FirmwareView, 'deviceIdentifier'>) => deviceIdentifier
  return {
    ...mapList(map, keyOf, (entry: FirmwareView) => entry),
    route: 'GET /updates',
    query: { depth: 2 },
    firstLimit: 1_000,
    types: ['UPDATE_STATUS', 'DEVICE_DISCOVERY', 'DEVICE_DELETE'],
    removeDevice: (device) => map.delete(device),
    apply(event) {
      const device = keyOf(event as EventOf<'DEVICE_DELETE'>)
      const before = map.get(device) ?? { deviceIdentifier: device, project: null, firmwares: [] }
      if (event.type === 'DEVICE_DELETE') map.delete(device)
      else if (event.type === 'UPDATE_STATUS')
        map.set(device, withUpdateStatus(before, event as EventOf<'UPDATE_STATUS'>))
      else map.set(device, withDiscovery(before, event as EventOf<'DEVICE_DISCOVERY'>))
    },
  }
}

function withUpdateStatus(before: FirmwareView, event: EventOf<'UPDATE_STATUS'>): FirmwareView {
  const { index, status, firmware, progress, message, timestamp: at } = event
  const update: UpdateEntry = {
    status,
    ...(firmware !== undefined && { firmware }),
    ...(progress !== undefined && { progress }),
    ...(message !== undefined && { message }),
    at,
  }
  const firmwares = before.firmwares ?? []
  return { ...before, firmwares: firmwares.map((entry) => (entry.index === index ? { ...entry, update } : entry)) }
}

/** Property ids of contract 4: 1 is the project, 16·(index+1) a firmware, and 16·(index+1)+1 its hardware. */
function withDiscovery(before: FirmwareView, { updates }: EventOf<'DEVICE_DISCOVERY'>): FirmwareView {
  const values = new Map(updates.map(({ propId, value }) => [propId, String(value)]))
  const firmwares: FirmwareEntry[] = []
  for (const [propId, firmware] of values) {
    if (propId < 16 || propId % 16 !== 0) continue
    const index = propId / 16 - 1
    const known = before.firmwares?.find((entry) => entry.index === index)
    const hardware = values.get(propId + 1)
    firmwares.push({
      firmware,
      ...(hardware !== undefined && { hardware }),
      index,
      // False after a change of the firmware, because the device may now have the version that was available. The next
      // full read corrects `updateAvailable`.
      updateAvailable: known?.firmware === firmware && known.updateAvailable,
      ...(known?.update && { update: known.update }),
    })
  }
  return { ...before, project: values.get(1) ?? before.project, firmwares }
}

/** Subscriptions of the caller, by `GET /notifications/subscribe`. §2.6 */
export function subscriptionList(map: LiveMap<string, Subscription>): ListKind {
  const keyOf = ({ resourceIdentifier }: Pick<Subscription, 'resourceIdentifier'>) => resourceIdentifier
  return {
    ...mapList(map, keyOf, (entry: Subscription) => entry),
    route: 'GET /notifications/subscribe',
    types: ['NOTIFICATION_SUBSCRIBE', 'NOTIFICATION_SUBSCRIPTION_UPDATE', 'NOTIFICATION_UNSUBSCRIBE'],
    apply(event) {
      const { payload, ...fields } = event as EventOf<'NOTIFICATION_SUBSCRIBE'>
      if (event.type === 'NOTIFICATION_UNSUBSCRIBE') map.delete(keyOf(fields))
      else map.set(keyOf(fields), payload as unknown as Subscription)
    },
  }
}
