import {
  type AlarmState,
  AlarmStates,
  type DeviceAlarms,
  type DeviceState,
  neverActive,
  noAlarms,
} from '#actors/device/state'
import type { AlarmChanged, Waits } from '#model/entry'
import type { IndexChange } from '#runtime/actor'

/** Devices on which an alarm is or was active: entries `<alarm id>/<deviceIdentifier>`. */
export const alarmIndex = 'alarm'

/** Results of an evaluation without an event, if no report carries them. */
export interface AlarmsEvaluated {
  readonly type: 'alarms_evaluated'
  readonly waiting: Waits
  /** Ids of alarms that were active once and no longer apply to this device. */
  readonly forgotten: readonly string[]
}

export function alarmRow(device: string, alarm: string, isPresent: boolean): IndexChange {
  return { index: alarmIndex, entry: `${alarm}/${device}`, isPresent }
}

export function applyAlarmChanged(state: DeviceState, { alarm, isActive, since, isEnded }: AlarmChanged): void {
  put(state, alarm, isEnded ? neverActive : { isActive, since, waitingSince: 0 })
}

export function applyWaiting(state: DeviceState, waits: Waits): void {
  for (let at = 0; at < waits.length; at += 2) {
    const alarm = waits[at] as string
    put(state, alarm, { ...(state.alarms.get(alarm) ?? neverActive), waitingSince: waits[at + 1] as number })
  }
}

export function applyAlarmsEvaluated(state: DeviceState, { waiting, forgotten }: AlarmsEvaluated): void {
  applyWaiting(state, waiting)
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

/** Stored form: id, isActive, since, waitingSince, id … */
export type StoredAlarms = readonly (string | boolean | number)[]

export function storedAlarms(alarms: DeviceAlarms): StoredAlarms {
  return [...alarms].flatMap(([id, { isActive, since, waitingSince }]) => [id, isActive, since, waitingSince])
}

export function alarmsOf(stored: StoredAlarms): DeviceAlarms {
  if (stored.length === 0) return noAlarms
  const alarms = new AlarmStates()
  for (let at = 0; at < stored.length; at += storedPerAlarm) {
    const [id, isActive, since, waitingSince] = stored.slice(at, at + storedPerAlarm) as [
      string,
      boolean,
      number,
      number,
    ]
    alarms.set(id, { isActive, since, waitingSince })
  }
  return alarms
}

/** Array elements for each alarm. */
export const storedPerAlarm = 4
