import { Fleet } from '#bench/fleet/fleet'
import { levelService } from '#bench/fleet/kinds'
import type { FleetOptions } from '#bench/fleet/options'
import { fleetWays, proofFleets } from '#bench/proof/fleets'
import { linkedDevice, reportingDevice, rolledOut, written } from '#bench/proof/soak/device-walks'
import { boundSession, bringPeople, newcomer, visitor, visitorToken } from '#bench/proof/soak/people-walks'
import { type WalkPlace, Walks } from '#bench/proof/soak/walks'

export interface SurroundingsOptions {
  readonly devices: number
  /** Changes a second in all. */
  readonly rate: number
  readonly seed: number
}

/** What is around the server all the time: fleets that report, raise alarms, take writes and firmware; and who passes by. */
export interface Surroundings {
  readonly fleets: readonly Fleet[]
  readonly walks: Walks
}

/** Of each of the three fleets that do more than report. */
const besideDevices = 12
const besideRate = 300
/** One mail of a device at most in so long: hundreds of files in half an hour, not thousands. */
const throttleSeconds = 20

export async function surround(place: WalkPlace, options: SurroundingsOptions): Promise<Surroundings> {
  const { api } = place
  const beside = (prefix: string, own: Partial<FleetOptions>) =>
    new Fleet({
      ...{ url: place.url.replace(/^http/, 'ws'), key: place.key, prefix, seed: options.seed + prefix.charCodeAt(0) },
      ...{ devices: besideDevices, links: besideDevices, rate: besideRate, changes: 3 },
      ...{ isRepeating: true, backoffMsMin: 50, backoffMsMax: 400 },
      ...own,
    })
  const level = beside('L', { flap: 40, links: 2 })
  const controlled = beside('W', { writes: 'mixed' })
  const updated = beside('U', { updates: 'mixed' })
  const rate = Math.max(1, options.rate - 3 * besideRate)
  const reporting = proofFleets(place.url, { ...options, rate, ways: fleetWays, key: place.key })
  await bringPeople(place)
  await raiseAlarms(place, identifiersOf(level))
  const body = { name: 'updated', devices: identifiersOf(updated) }
  const group = await api.must<{ resourceIdentifier: string }>('POST', '/groups', { body })
  const walks = [
    ...[newcomer, visitor, boundSession, linkedDevice, reportingDevice],
    ...[written(identifiersOf(controlled)), rolledOut(group.resourceIdentifier)],
  ]
  return { fleets: [...reporting, level, controlled, updated], walks: new Walks(place, walks) }
}

/** Two alarms over all levels, one of them after a while; a function tells somebody when that one begins. */
async function raiseAlarms(place: WalkPlace, devices: readonly string[]): Promise<void> {
  const { api } = place
  const make = async (path: string, body: object) =>
    (await api.must<{ resourceIdentifier: string }>('POST', path, { body })).resourceIdentifier
  const condition = { '>': [{ var: '0x2000' }, 50] }
  const alarm = { severity: 'info', serviceIdentifier: levelService.serviceIdentifier, condition }
  await make('/alarms', { ...alarm, name: 'level' })
  const alarmId = await make('/alarms', { ...alarm, name: 'level, for long', forSeconds: 1 })
  const locales = { en: { subject: 'Alarm of {{deviceIdentifier}}', text: '{{deviceIdentifier}}' } }
  await api.must('PUT', '/templates/level', { body: { locales } })
  const nodes = [
    { id: 'begins', type: 'trigger', on: 'alarm', alarmId, to: 'active' },
    { id: 'seldom', type: 'throttle', seconds: throttleSeconds },
    { id: 'tell', type: 'email', template: 'level' },
  ]
  const edges = [
    ['begins', 'seldom'],
    ['seldom', 'tell'],
  ]
  const topic = await make('/functions', {
    ...{ name: 'level', enabled: true, binding: { devices }, graph: { nodes, edges } },
  })
  const headers = { authorization: await visitorToken(place) }
  const body = { topic, type: 'email', locale: 'en' }
  await api.must('POST', '/notifications/subscribe', { headers, body })
}

function identifiersOf({ devices }: Fleet): readonly string[] {
  return devices.map(({ identifier }) => identifier)
}
