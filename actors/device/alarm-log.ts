import { logEntry, textOfEntry } from '#actors/tenant/log'
import type { AlarmAcknowledged, AlarmChanged, Entry } from '#model/entry'
import type { JsonValue } from '#model/json-value'
import type { IndexChange } from '#runtime/actor'

/** A log of what happened to the alarms of a tenant, with texts `<alarm>/<device>/<JSON>`. Contract 12, Alarms. */
export const alarmLogIndex = 'alarm-log'

/** The JSON of a row. The API returns it with the alarm and the device. */
export interface AlarmLogRow {
  readonly type: 'ACTIVE' | 'INACTIVE' | 'ACKNOWLEDGED'
  /** Unix ms. */
  readonly at: number
  readonly by?: string
  readonly comment?: string
  readonly value?: JsonValue
}

/** The row for an entry of a device; undefined if the entry is not about an alarm. */
export function alarmLogRow(entry: Entry, offset: number): IndexChange | undefined {
  if (entry.kind !== 'alarm_changed' && entry.kind !== 'alarm_acknowledged') return undefined
  const row = entry.kind === 'alarm_changed' ? changeOf(entry) : acknowledgementOf(entry)
  const text = `${entry.alarm}/${entry.device}/${JSON.stringify(row)}`
  return { index: alarmLogIndex, entry: logEntry(row.at, offset, text), isPresent: true }
}

function changeOf({ isActive, since, value }: AlarmChanged): AlarmLogRow {
  return { type: isActive ? 'ACTIVE' : 'INACTIVE', at: since, ...(value !== undefined && { value }) }
}

function acknowledgementOf({ at, by, comment }: AlarmAcknowledged): AlarmLogRow {
  return { type: 'ACKNOWLEDGED', at, by, ...(comment !== undefined && { comment }) }
}

/** The alarm and the device that an entry of the index names. */
export function alarmLogNames(entry: string): { readonly alarm: string; readonly device: string } {
  const [alarm = '', device = ''] = textOfEntry(entry).split('/', 2)
  return { alarm, device }
}

export function alarmLogRowOf(entry: string): AlarmLogRow {
  return JSON.parse(textOfEntry(entry).split('/').slice(2).join('/'))
}
