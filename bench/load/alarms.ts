import { type Authorizations, asked } from '#bench/harness/identity'
import { identifierOf, serviceIdentifier } from '#bench/load/fleet-link'
import { carriedValue, firstPropId } from '#bench/load/update-template'

/**
 * What becomes of the alarms of a load. `quiet`: none is ever active. `changing`: each comes to be active, or ceases,
 * once in about a hundred changes of what it reads. `elsewhere`: as `changing`, and they mean other devices.
 */
export type AlarmManner = 'quiet' | 'changing' | 'elsewhere'

export interface AlarmedFleet {
  readonly devices: number
  readonly properties: number
  readonly changes: number
  readonly prefix: string
}

/** Devices of one alarm. They lie behind each other, and for each of their properties there is one such alarm. */
const devicesPerAlarm = 100
/** The values that a device reports rise by about a hundred each time; at two of two hundred places an alarm holds. */
const period = 20_000
const holdsBelow = 200
/** Alarm after alarm begins a little later, so that they do not all turn at once. */
const shiftPerAlarm = 20

const otherPrefix = 'ELSEWHERE'
const requestsAtOnce = 16

/** The alarms of a fleet, so that one reads each of its properties. */
export function alarmBodies(manner: AlarmManner, { devices, properties, prefix }: AlarmedFleet): readonly object[] {
  const count = Math.ceil(devices / devicesPerAlarm) * properties
  return Array.from({ length: count }, (_, alarm) => {
    const first = Math.floor(alarm / properties) * devicesPerAlarm
    const bound = Array.from({ length: Math.min(devicesPerAlarm, devices - first) }, (_, place) => first + place)
    return {
      name: `Load ${alarm}`,
      severity: 'warning',
      serviceIdentifier,
      condition: conditionOf(alarm, properties, manner === 'quiet' ? 0 : holdsBelow),
      devices: bound.map((device) => identifierOf(manner === 'elsewhere' ? otherPrefix : prefix, device)),
    }
  })
}

/** Creates them before the fleet connects, so that there is nothing to sweep. */
export async function makeAlarms(
  port: number,
  authorizations: Authorizations | undefined,
  bodies: readonly object[],
): Promise<void> {
  const person = authorizations?.person
  for (let first = 0; first < bodies.length; first += requestsAtOnce) {
    await Promise.all(
      bodies.slice(first, first + requestsAtOnce).map((body) => asked(port, '/alarms', { person, body })),
    )
  }
}

/** How often alarms turn. */
export interface Turns {
  readonly active: number
  readonly inactive: number
}

/** Told of every frame as it is sent, and knows of it what the alarms have to do: what they do is held against it. */
export class ExpectedTurns {
  #active = 0
  #inactive = 0
  readonly #fleet: AlarmedFleet
  /** By device and property: 1 where the alarm is active. */
  readonly #isActive: Uint8Array

  constructor(fleet: AlarmedFleet) {
    this.#fleet = fleet
    this.#isActive = new Uint8Array(fleet.devices * fleet.properties)
  }

  get turns(): Turns {
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
