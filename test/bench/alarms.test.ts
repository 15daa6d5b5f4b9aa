import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AlarmedFleet, type AlarmManner, alarmBodies, ExpectedTurns } from '#bench/load/alarms'
import { identifierOf } from '#bench/load/fleet-link'
import { carriedValue, firstPropId } from '#bench/load/update-template'
import { AlarmBody } from '#model/alarm'
import { compile } from '#rules/compile'

const fleet: AlarmedFleet = { devices: 250, properties: 3, changes: 2, prefix: 'LOAD' }

const bodiesOf = (manner: AlarmManner) => alarmBodies(manner, fleet).map((body) => AlarmBody.parse(body))
const nameOf = (place: number) => `0x${(firstPropId + place).toString(16)}`

/** What the server's own evaluator says of each property that frames say, by the alarms that mean the device. */
function turnsBy(bodies: readonly AlarmBody[], frames: readonly (readonly [device: number, number: number])[]) {
  const rules = bodies.map(({ condition, devices = [] }) => ({
    devices: new Set(devices),
    compiled: compile(condition),
  }))
  const active = new Set<string>()
  const turns = { active: 0, inactive: 0 }
  for (const [device, number] of frames) {
    for (let place = 0; place < fleet.changes; place++) {
      rules.forEach(({ devices, compiled }, rule) => {
        if (compiled.names[0] !== nameOf(place) || !devices.has(identifierOf(fleet.prefix, device))) return
        const key = `${rule}/${device}`
        const holds = compiled.evaluate([carriedValue(number, fleet.changes, place)])
        if (holds === active.has(key)) return
        if (holds) active.add(key)
        else active.delete(key)
        turns[holds ? 'active' : 'inactive']++
      })
    }
  }
  return turns
}

const frame = fc.tuple(fc.nat({ max: fleet.devices - 1 }), fc.nat({ max: 10_000_000 }))

describe('alarms of a load', () => {
  test('read each property of each device, one alarm each', () => {
    const readers = new Map<string, number>()
    for (const { condition, devices = [] } of bodiesOf('changing')) {
      expect(compile(condition).names).toHaveLength(1)
      for (const device of devices) {
        const key = `${device} ${compile(condition).names[0]}`
        readers.set(key, (readers.get(key) ?? 0) + 1)
      }
    }
    expect(readers.size).toBe(fleet.devices * fleet.properties)
    expect(new Set(readers.values())).toEqual(new Set([1]))
  })

  test('turn as often as is expected of them, whatever is sent', () => {
    const bodies = bodiesOf('changing')
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 60 }), (frames) => {
        const expected = new ExpectedTurns(fleet)
        for (const [device, number] of frames) expected.sent(device, number)
        expect(expected.turns).toEqual(turnsBy(bodies, frames))
      }),
      { numRuns: 30 },
    )
  })

  test('that change turn once in a hundred changes, those that are quiet or elsewhere never', () => {
    // A fleet at an even pace: each time round, a device carries as much more as there are frames in a round.
    const round = 10_000
    const frames = Array.from({ length: 400 }, (_, place) => [7, place * round] as const)
    const { active, inactive } = turnsBy(bodiesOf('changing'), frames)
    expect(active + inactive).toBe((400 * fleet.changes) / 100)
    for (const manner of ['quiet', 'elsewhere'] as const) {
      expect(turnsBy(bodiesOf(manner), frames)).toEqual({ active: 0, inactive: 0 })
    }
  })
})
