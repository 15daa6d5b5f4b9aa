import type { LiveMap } from '#client/observable'
import type { Item, ListName } from '#client/routes'
import { type AlarmStatus, alarmKey, type FirmwareView, type Schema, type Subscription } from '#client/state'
import type { ListKind } from '#client/synced-list'
import type { Severity } from '#model/alarm'
import type { EventOf, EventType, StreamEvent } from '#model/event'
import type { FirmwareEntry, UpdateEntry } from '#model/firmware'

/** A list that is kept in one map. The map holds the entries, or the part of each entry that `valueOfEntry` returns. */
abstract class MapList<Value, Entry = Value> implements ListKind {
  abstract readonly route: ListName
  abstract readonly types: readonly EventType[]
  readonly query: Readonly<Record<string, unknown>> = {}
  readonly firstLimit: number | undefined = undefined
  /** The field of entries and events that contains the key of the entry. */
  protected readonly keyField: string = 'resourceIdentifier'
  protected readonly map: LiveMap<string, Value>

  constructor(map: LiveMap<string, Value>) {
    this.map = map
  }

  store(entries: readonly unknown[]) {
    const keys = (entries as readonly Entry[]).map((entry) => {
      const key = this.keyOfEntry(entry)
      const value = this.valueOfEntry(entry)
      if (value !== undefined) this.map.set(key, value)
      return key
    })
    // Without `weightPerPage`, the weight is not used.
    return { keys, weight: keys.length }
  }

  retainOnly(isListed: (key: string) => boolean): void {
    for (const key of [...this.map.keys()]) if (!isListed(key)) this.map.delete(key)
  }

  complete(isComplete: boolean): void {
    this.map.complete(isComplete)
  }

  abstract apply(event: StreamEvent): void

  keyOfEvent(event: StreamEvent): string {
    return this.#keyIn(event)
  }

  protected keyOfEntry(entry: Entry): string {
    return this.#keyIn(entry)
  }

  #keyIn(fields: unknown): string {
    return (fields as Readonly<Record<string, string>>)[this.keyField] as string
  }

  protected valueOfEntry(entry: Entry): Value | undefined {
    return entry as unknown as Value
  }
}

/** The schemas of services, by `GET /schemas`. §2.4 */
export class SchemaList extends MapList<Schema, Item<'GET /schemas'>> {
  readonly route = 'GET /schemas'
  override readonly query = { depth: 1 }
  override readonly firstLimit = 50
  readonly types = ['SCHEMA_ADD', 'SCHEMA_UPDATE', 'SCHEMA_DELETE'] as const
  protected override readonly keyField = 'serviceIdentifier'

  apply(event: StreamEvent): void {
    if (event.type === 'SCHEMA_DELETE') this.map.delete(this.keyOfEvent(event))
    else this.map.set(this.keyOfEvent(event), (event as EventOf<'SCHEMA_ADD'>).schema)
  }

  protected override valueOfEntry(row: Item<'GET /schemas'>): Schema | undefined {
    return row.schema
  }
}

/** The status of alarms, by `GET /alarms/status`. Contract 5.3 */
export class AlarmList extends MapList<AlarmStatus> {
  readonly route = 'GET /alarms/status'
  override readonly firstLimit = 2_000
  readonly types = [
    'ALARM_STATUS_ACTIVE',
    'ALARM_STATUS_INACTIVE',
    'ALARM_STATUS_ACKNOWLEDGED',
    'ALARM_CONFIG_UPDATE',
    'DEVICE_DELETE',
  ] as const
  /** The severities that the caller may read, by resource name of the alarm. Status events do not contain them. */
  readonly #severities = new Map<string, Severity>()

  /** Always '': the deletion of an alarm or a device changes several entries. */
  override keyOfEvent(): string {
    return ''
  }

  apply(event: StreamEvent): void {
    if (event.type === 'DEVICE_DELETE') this.removeDevice((event as EventOf<'DEVICE_DELETE'>).deviceIdentifier)
    else if (event.type === 'ALARM_CONFIG_UPDATE') {
      const { resourceIdentifier, payload } = event as EventOf<'ALARM_CONFIG_UPDATE'>
      const { severity } = payload as { readonly severity?: Severity }
      if (severity === undefined) this.#deleteWhere((status) => status.resourceIdentifier === resourceIdentifier)
      else this.#setSeverity(resourceIdentifier, severity)
    } else this.#applyStatus(event as EventOf<'ALARM_STATUS_ACTIVE' | 'ALARM_STATUS_ACKNOWLEDGED'>)
  }

  #applyStatus(event: EventOf<'ALARM_STATUS_ACTIVE' | 'ALARM_STATUS_ACKNOWLEDGED'>): void {
    const { resourceIdentifier, deviceIdentifier, since } = event
    const type: EventType = event.type
    const key = alarmKey(resourceIdentifier, deviceIdentifier)
    const before = this.map.get(key)
    const severity = this.#severities.get(resourceIdentifier)
    const status = { resourceIdentifier, deviceIdentifier, since, ...(severity && { severity }) }
    if (event.type === 'ALARM_STATUS_ACKNOWLEDGED') {
      const { by, timestamp: at, comment = null } = event as EventOf<'ALARM_STATUS_ACKNOWLEDGED'>
      this.map.set(key, { ...status, active: before?.active ?? true, acknowledged: { by, at, comment } })
    } else {
      const active = type === 'ALARM_STATUS_ACTIVE'
      this.map.set(key, { ...status, active, acknowledged: (!active && before?.acknowledged) || null })
    }
  }

  #setSeverity(alarm: string, severity: Severity): void {
    if (this.#severities.get(alarm) === severity) return
    this.#severities.set(alarm, severity)
    for (const [key, status] of [...this.map.entries()])
      if (status.resourceIdentifier === alarm) this.map.set(key, { ...status, severity })
  }

  protected override valueOfEntry(status: AlarmStatus): AlarmStatus {
    if (status.severity) this.#severities.set(status.resourceIdentifier, status.severity)
    return status
  }

  removeDevice(device: string): void {
    this.#deleteWhere((status) => status.deviceIdentifier === device)
  }

  protected override keyOfEntry(status: AlarmStatus): string {
    return alarmKey(status.resourceIdentifier, status.deviceIdentifier)
  }

  #deleteWhere(isSelected: (status: AlarmStatus) => boolean): void {
    for (const [key, status] of [...this.map.entries()]) if (isSelected(status)) this.map.delete(key)
  }
}

/** The firmware and updates of devices, by `GET /updates`. §2.7, contract 6 */
export class UpdateList extends MapList<FirmwareView> {
  readonly route = 'GET /updates'
  override readonly query = { depth: 2 }
  override readonly firstLimit = 1_000
  readonly types = ['UPDATE_STATUS', 'DEVICE_DISCOVERY', 'DEVICE_DELETE'] as const
  protected override readonly keyField = 'deviceIdentifier'

  apply(event: StreamEvent): void {
    const device = this.keyOfEvent(event)
    const before = this.map.get(device) ?? { deviceIdentifier: device, project: null, firmwares: [] }
    if (event.type === 'DEVICE_DELETE') this.removeDevice(device)
    else if (event.type === 'UPDATE_STATUS')
      this.map.set(device, withUpdateStatus(before, event as EventOf<'UPDATE_STATUS'>))
    else this.map.set(device, withDiscovery(before, event as EventOf<'DEVICE_DISCOVERY'>))
  }

  removeDevice(device: string): void {
    this.map.delete(device)
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
export class SubscriptionList extends MapList<Subscription> {
  readonly route = 'GET /notifications/subscribe'
  readonly types = ['NOTIFICATION_SUBSCRIBE', 'NOTIFICATION_SUBSCRIPTION_UPDATE', 'NOTIFICATION_UNSUBSCRIBE'] as const

  apply(event: StreamEvent): void {
    if (event.type === 'NOTIFICATION_UNSUBSCRIBE') this.map.delete(this.keyOfEvent(event))
    else {
      const { payload } = event as EventOf<'NOTIFICATION_SUBSCRIBE'>
      this.map.set(this.keyOfEvent(event), payload as unknown as Subscription)
    }
  }
}
