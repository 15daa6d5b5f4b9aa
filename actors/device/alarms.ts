import type { DeviceCommands } from '#actors/device/commands'
import { type AlarmState, AlarmStates, type DeviceState, neverActive, noAlarms } from '#actors/device/state'
import { logEntry, textOfEntry } from '#actors/tenant/state'
import type { Acknowledgement } from '#model/alarm'
import type { AlarmAcknowledged, AlarmChanged, AlarmWaits, Entry } from '#model/entry'
import type { JsonValue } from '#model/json-value'
import { Problem } from '#model/problem'
import { answer, type Decision, type IndexChange, record, refuse, type Turn } from '#runtime/actor'

/** Devices on which an alarm is or was active: entries `<alarm id>/<deviceIdentifier>`. */
export const alarmIndex = 'alarm'

/** Results of an evaluation that are in no event and in no report. */
export interface AlarmsEvaluated {
  readonly type: 'alarms_evaluated'
  readonly waiting: AlarmWaits
  /** Ids of inactive alarms that were active once and no longer apply to this device. */
  readonly forgotten: readonly string[]
}

export function alarmRow(device: string, alarm: string, isPresent: boolean): IndexChange {
  return { index: alarmIndex, entry: `${alarm}/${device}`, isPresent }
}

export function applyAlarmChanged(state: DeviceState, { alarm, isActive, since, isEnded }: AlarmChanged): void {
  const { acknowledged } = state.alarms.get(alarm) ?? neverActive
  const isCleared = isActive || acknowledged === undefined
  const next = { isActive, since, waitingSince: 0, ...(!isCleared && { acknowledged }) }
  put(state, alarm, isEnded ? neverActive : next)
}

/** Contract 12. The answer is the alarm's state on the device. Repeating the last acknowledgement changes nothing. */
export function decideAcknowledge(
  { alarms, device }: DeviceState,
  { alarm, by, comment }: DeviceCommands['acknowledge_alarm'],
  { now }: Turn,
): Decision<Entry> {
  const before = alarms.get(alarm)
  if (!before || before.since === 0) return refuse(new Problem('not_found'))
  const { acknowledged, since } = before
  if (acknowledged && acknowledged.by === by && acknowledged.comment === (comment ?? null)) return answer(before)
  const entry: AlarmAcknowledged = {
    ...{ kind: 'alarm_acknowledged', device, alarm, at: now, since, by },
    ...(comment !== undefined && { comment }),
  }
  return record([entry], { answer: { ...before, acknowledged: acknowledgementOf(entry) } satisfies AlarmState })
}

export function applyAcknowledged(state: DeviceState, entry: AlarmAcknowledged): void {
  const before = state.alarms.get(entry.alarm)
  if (before) put(state, entry.alarm, { ...before, acknowledged: acknowledgementOf(entry) })
}

function acknowledgementOf({ by, at, comment }: AlarmAcknowledged): Acknowledgement {
  return { by, at, comment: comment ?? null }
}

export function applyAlarmWaits(state: DeviceState, waits: AlarmWaits): void {
  for (let at = 0; at < waits.length; at += 2) {
    const alarm = waits[at] as string
    put(state, alarm, { ...(state.alarms.get(alarm) ?? neverActive), waitingSince: waits[at + 1] as number })
  }
}

export function applyAlarmsEvaluated(state: DeviceState, { waiting, forgotten }: AlarmsEvaluated): void {
  applyAlarmWaits(state, waiting)
  for (const alarm of forgotten) put(state, alarm, neverActive)
}

/** Changes the map in place: one turn may change ten thousand alarms. */
function put(state: DeviceState, alarm: string, current: AlarmState): void {
  if (state.alarms === noAlarms) state.alarms = new AlarmStates()
  const alarms = state.alarms as AlarmStates
  if (current.since > 0 || current.waitingSince > 0) alarms.set(alarm, current)
  else alarms.delete(alarm)
  if (alarms.size === 0) state.alarms = noAlarms
}

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
  const row = entry.kind === 'alarm_changed' ? changeOf(entry) : acknowledgedRow(entry)
  const text = `${entry.alarm}/${entry.device}/${JSON.stringify(row)}`
  return { index: alarmLogIndex, entry: logEntry(row.at, offset, text), isPresent: true }
}

function changeOf({ isActive, since, value }: AlarmChanged): AlarmLogRow {
  return { type: isActive ? 'ACTIVE' : 'INACTIVE', at: since, ...(value !== undefined && { value }) }
}

function acknowledgedRow({ at, by, comment }: AlarmAcknowledged): AlarmLogRow {
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
