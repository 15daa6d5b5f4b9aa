import type { LiveMap } from '#client/live-map'
import { MapList } from '#client/map-list'
import { type AlarmStatus, alarmKey } from '#client/state'
import type { EventOf, StreamEvent } from '#model/event'

/** Where alarms stand, by `GET /alarms/status`. Contract 5.3 */
export class AlarmList extends MapList<AlarmStatus> {
  readonly route = 'GET /alarms/status'
  readonly types = ['ALARM_STATUS_ACTIVE', 'ALARM_STATUS_INACTIVE', 'ALARM_CONFIG_UPDATE', 'DEVICE_DELETE'] as const

  constructor(alarms: LiveMap<string, AlarmStatus>) {
    super(alarms, 2_000)
  }

  /** The end of an alarm, or of a device, is about several. */
  keyOf(): string {
    return ''
  }

  apply(event: StreamEvent): void {
    if (event.type === 'DEVICE_DELETE') this.gone((event as EventOf<'DEVICE_DELETE'>).deviceIdentifier)
    else if (event.type === 'ALARM_CONFIG_UPDATE') {
      const { resourceIdentifier, payload } = event as EventOf<'ALARM_CONFIG_UPDATE'>
      const isGone = Object.keys(payload).length === 0
      if (isGone) this.#deleteWhere((status) => status.resourceIdentifier === resourceIdentifier)
    } else {
      const { resourceIdentifier, deviceIdentifier, since } = event as EventOf<'ALARM_STATUS_ACTIVE'>
      const active = event.type === 'ALARM_STATUS_ACTIVE'
      const key = alarmKey(resourceIdentifier, deviceIdentifier)
      this.map.set(key, { resourceIdentifier, deviceIdentifier, active, since })
    }
  }

  gone(device: string): void {
    this.#deleteWhere((status) => status.deviceIdentifier === device)
  }

  protected keyIn(status: AlarmStatus): string {
    return alarmKey(status.resourceIdentifier, status.deviceIdentifier)
  }

  #deleteWhere(isMeant: (status: AlarmStatus) => boolean): void {
    for (const [key, status] of [...this.map.entries()]) if (isMeant(status)) this.map.delete(key)
  }
}
