import { type Authorizations, callApi } from '#bench/harness/identity'
import { identifierOf, serviceIdentifier } from '#bench/load/fleet-link'
import { carriedValue, firstPropId } from '#bench/load/update-template'

/**
 * The alarms of a load. `quiet`: none is ever active. `changing`: each changes state once in about a hundred changes of
 * its property. `elsewhere`: as `changing`, for other devices.
 */
export type AlarmMode = 'quiet' | 'changing' | 'elsewhere'

export interface AlarmedFleet {
  readonly devices: number
  readonly properties: number
  readonly changes: number
  readonly prefix: string
}

/** Each alarm covers this many consecutive devices; there is one for each of their properties. */
const devicesPerAlarm = 100
/** The values of a device rise by about a hundred each time; an alarm is active at two of two hundred positions. */
const period = 20_000
const holdsBelow = 200
/** Shifts each alarm, so that they do not change state at the same time. */
const shiftPerAlarm = 20

const otherPrefix = 'ELSEWHERE'
const requestsAtOnce = 16

/** The alarms of a fleet: one reads each of its properties. */
export function alarmBodies(mode: AlarmMode, { devices, properties, prefix }: AlarmedFleet): readonly object[] {
  const count = Math.ceil(devices / devicesPerAlarm) * properties
  return Array.from({ length: count }, (_, alarm) => {
    const first = Math.floor(alarm / properties) * devicesPerAlarm
    const bound = Array.from({ length: Math.min(devicesPerAlarm, devices - first) }, (_, place) => first + place)
    return {
      name: `Load ${alarm}`,
      severity: 'warning',
      serviceIdentifier,
      condition: conditionOf(alarm, properties, mode === 'quiet' ? 0 : holdsBelow),
      devices: bound.map((device) => identifierOf(mode === 'elsewhere' ? otherPrefix : prefix, device)),
    }
  })
}

/** Creates them before the fleet connects, so that no devices must be evaluated. */
export async function makeAlarms(
  port: number,
  authorizations: Authorizations | undefined,
  bodies: readonly object[],
): Promise<void> {
  const person = authorizations?.person
  for (let first = 0; first < bodies.length; first += requestsAtOnce) {
    await Promise.all(
      bodies.slice(first, first + requestsAtOnce).map((body) => callApi(port, '/alarms', { person, body })),
    )
  }
}

export interface AlarmChanges {
  readonly active: number
  readonly inactive: number
}

/** Computes from each frame, before it is sent, which alarms must change state. The events are compared with it. */
export class ExpectedAlarmChanges {
  #active = 0
  #inactive = 0
  readonly #fleet: AlarmedFleet
  /** By device and property: 1 while the alarm is active. */
  readonly #isActive: Uint8Array

  constructor(fleet: AlarmedFleet) {
    this.#fleet = fleet
    this.#isActive = new Uint8Array(fleet.devices * fleet.properties)
  }

  get turns(): AlarmChanges {
    return { active: this.#active, inactive: this.#inactive }
  }

  sent(device: number, number: number): void {
    const { properties, changes } = this.#fleet
    const firstAlarm = Math.floor(device / devicesPerAlarm) * properties
    for (let place = 0; place < changes; place++) {
      const shifted = carriedValue(number, changes, place) + shiftPerAlarm * (firstAlarm + place)
      const holds = shifted % period < holdsBelow ? 1 : 0
      const at = device * properties + place
      if (this.#isActive[at] === holds) continue
      this.#isActive[at] = holds
      if (holds === 1) this.#active++
      else this.#inactive++
    }
  }
}

function conditionOf(alarm: number, properties: number, below: number): object {
  const property = `0x${(firstPropId + (alarm % properties)).toString(16)}`
  return { '<': [{ '%': [{ '+': [{ var: property }, shiftPerAlarm * alarm] }, period] }, below] }
}
