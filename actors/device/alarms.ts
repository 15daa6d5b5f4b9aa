import type { AcknowledgeAlarm } from '#actors/device/commands'
import { type AlarmState, AlarmStates, type DeviceState, neverActive, noAlarms } from '#actors/device/state'
import type { Acknowledgement } from '#model/alarm'
import type { AlarmAcknowledged, AlarmChanged, AlarmWaits, Entry } from '#model/entry'
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
  { alarm, by, comment }: AcknowledgeAlarm,
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
