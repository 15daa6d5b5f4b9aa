import type { AlarmAcknowledged, AlarmChanged, Entry } from '#model/entry'
import type { JsonValue } from '#model/json-value'
import type { IndexChange } from '#runtime/actor'

/**
 * What happened to the alarms of a tenant, newest first. Contract 12, Alarms. An entry is
 * `<time><offset>/<alarm>/<device>/<JSON>`: the time and the position in the stream are counted backwards, and nothing
 * but the key has to be read.
 */
export const alarmLogIndex = 'alarm-log'

/** Contract 12. Older rows, and those beyond the number, are removed within an hour. */
export const alarmLogDays = 90
export const alarmLogRowsMax = 1_000_000

/** What happened, as the API returns it. */
export interface AlarmLogRow {
  readonly type: 'ACTIVE' | 'INACTIVE' | 'ACKNOWLEDGED'
  /** Unix ms. */
  readonly at: number
  readonly by?: string
  readonly comment?: string
  readonly value?: JsonValue
}

/** The row of an entry of a device. */
export function alarmLogRow(entry: Entry, offset: number): IndexChange | undefined {
  if (entry.kind !== 'alarm_changed' && entry.kind !== 'alarm_acknowledged') return undefined
  const row = entry.kind === 'alarm_changed' ? changeOf(entry) : acknowledgementOf(entry)
  const name = `${backwards(row.at)}${backwards(offset)}/${entry.alarm}/${entry.device}/${JSON.stringify(row)}`
  return { index: alarmLogIndex, entry: name, isPresent: true }
}

function changeOf({ isActive, since, value }: AlarmChanged): AlarmLogRow {
  return { type: isActive ? 'ACTIVE' : 'INACTIVE', at: since, ...(value !== undefined && { value }) }
}

function acknowledgementOf({ at, by, comment }: AlarmAcknowledged): AlarmLogRow {
  return { type: 'ACKNOWLEDGED', at, by, ...(comment !== undefined && { comment }) }
}

/** The parts of an entry of the index. */
export function alarmLogNames(entry: string): { readonly alarm: string; readonly device: string } {
  const [, alarm = '', device = ''] = entry.split('/', 3)
  return { alarm, device }
}

export function alarmLogRowOf(entry: string): AlarmLogRow {
  return JSON.parse(entry.split('/').slice(3).join('/'))
}

/** The time of an entry, Unix ms. */
export function alarmLogTime(entry: string): number {
  return Number.MAX_SAFE_INTEGER - Number.parseInt(entry.slice(0, digits), 16)
}

/** Behind all entries of this time and later, and before all older ones. */
export function placeOfTime(at: number): string {
  return `${backwards(at)}g`
}

/** The beginning of an entry, which no other entry has. */
export function placeOf(entry: string): string {
  return entry.slice(0, 2 * digits)
}

/** Behind the entry with this beginning, and before all that follow. */
export function placeAfter(place: string): string {
  return `${place}0`
}

const digits = 14

function backwards(number: number): string {
  return (Number.MAX_SAFE_INTEGER - number).toString(16).padStart(digits, '0')
}
