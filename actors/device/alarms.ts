import type { DeviceState } from '#actors/device/state'
import type { AlarmChanged, Waits } from '#model/entry'
import type { IndexChange } from '#runtime/actor'

/** Which devices an alarm is or was active on: entries `<alarm id>/<deviceIdentifier>`. */
export const alarmIndex = 'alarm'

/** What stands of an alarm on a device where it is or was active, or where its condition does not hold for long enough. */
export interface AlarmState {
  readonly isActive: boolean
  /** When it last came to be active, or inactive again, Unix ms; 0: it never was active. */
  readonly since: number
  /** Since when the condition has held, while that is not long enough yet, Unix ms; 0: it does not wait. */
  readonly waitingSince: number
}

/** By id. Changed only by `apply` and `change`. */
export interface DeviceAlarms extends ReadonlyMap<string, AlarmState> {
  /** How many are active or wait. Of all others only a condition that holds makes anything else. */
  readonly unsettled: number
}

/** What stands on one device. */
export class StandingAlarms extends Map<string, AlarmState> implements DeviceAlarms {
  unsettled = 0

  static of(alarms: Iterable<readonly [string, AlarmState]>): StandingAlarms {
    const standing = new StandingAlarms()
    for (const [id, stands] of alarms) standing.set(id, stands)
    return standing
  }

  override set(id: string, stands: AlarmState): this {
    this.unsettled += unsettled(stands) - unsettled(this.get(id))
    return super.set(id, stands)
  }

  override delete(id: string): boolean {
    this.unsettled -= unsettled(this.get(id))
    return super.delete(id)
  }
}

function unsettled(stands: AlarmState | undefined): number {
  return stands && (stands.isActive || stands.waitingSince > 0) ? 1 : 0
}

/** What most devices have: one for all of them. */
export const noAlarms: DeviceAlarms = new StandingAlarms()

/** Where nothing stands of an alarm. */
export const neverActive: AlarmState = Object.freeze({ isActive: false, since: 0, waitingSince: 0 })

/** What no event tells of a judgement, where no report tells it either. */
export interface AlarmsJudged {
  readonly type: 'alarms_judged'
  readonly waiting: Waits
  /** Ids of alarms that were active once and mean this device no more. */
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

export function applyAlarmsJudged(state: DeviceState, { waiting, forgotten }: AlarmsJudged): void {
  applyWaiting(state, waiting)
  for (const alarm of forgotten) put(state, alarm, neverActive)
}

/** In place: one turn may change ten thousand of them. */
function put(state: DeviceState, alarm: string, stands: AlarmState): void {
  if (state.alarms === noAlarms) state.alarms = new StandingAlarms()
  const alarms = state.alarms as StandingAlarms
  if (stands.since > 0 || stands.waitingSince > 0) alarms.set(alarm, stands)
  else alarms.delete(alarm)
  if (alarms.size === 0) state.alarms = noAlarms
}

/** As stored: id, isActive, since, waitingSince, id … */
export type StoredAlarms = readonly (string | boolean | number)[]

export function storedAlarms(alarms: DeviceAlarms): StoredAlarms {
  return [...alarms].flatMap(([id, { isActive, since, waitingSince }]) => [id, isActive, since, waitingSince])
}

export function alarmsOf(stored: StoredAlarms): DeviceAlarms {
  if (stored.length === 0) return noAlarms
  const alarms = new StandingAlarms()
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

/** Values stored of each. */
export const storedPerAlarm = 4
