import { describe, expect, test } from 'vitest'
import { SimulatedDevice } from '#bench/fleet/device'
import { jsonForm } from '#bench/fleet/encoding'
import { FramePlan } from '#bench/fleet/frames'
import { deviceKinds } from '#bench/fleet/kinds'
import type { ComparisonReport, ReceivedUpdate } from '#bench/fleet/stream-comparison'
import { StreamComparison } from '#bench/fleet/stream-comparison'

describe('a stream compared with the sent frames', () => {
  const sentFrames = 20
  const acknowledgedFrames = 18

  function deviceWithFrames(): SimulatedDevice {
    const [kind] = deviceKinds(10)
    if (!kind) throw new Error('no kinds')
    const device = new SimulatedDevice(7, 'SIM-CLIMATE-000007', new FramePlan(kind, 3), 'boot')
    device.welcome(1, 0)
    for (let frame = 1; frame <= sentFrames; frame++) device.next(0, undefined)
    device.acknowledge(acknowledgedFrames)
    return device
  }

  function eventOf(device: SimulatedDevice, number: number): ReceivedUpdate {
    const { service, changes } = device.frame(number)
    return {
      deviceIdentifier: device.identifier,
      serviceIdentifier: service.serviceIdentifier,
      updates: changes.map(({ property, value }) => ({
        propId: property.propId,
        tag: 'value',
        value: jsonForm(value),
      })),
    }
  }

  const faultless = { found: acknowledgedFrames, lost: 0, doubled: 0, disordered: 0, wrong: 0, refusedReceived: 0 }

  const streams: readonly (readonly [string, (events: ReceivedUpdate[]) => unknown, Partial<ComparisonReport>])[] = [
    ['complete', () => {}, { unacknowledged: 2 }],
    ['without what was never acknowledged', (events) => events.splice(acknowledgedFrames), { unacknowledged: 0 }],
    ['with one lost', (events) => events.splice(4, 1), { found: 17, lost: 1 }],
    ['with the last acknowledged lost', (events) => events.splice(17, 3), { found: 17, lost: 1 }],
    ['with a duplicate', (events) => events.splice(4, 0, ...events.slice(3, 4)), { doubled: 1 }],
    [
      'with two in the wrong order',
      (events) => events.splice(4, 2, ...events.slice(4, 6).reverse()),
      { disordered: 1 },
    ],
    [
      'with a narrow value changed',
      (events) => change(events, 4, (item, at) => (at === 1 ? { ...item, value: 'x' } : item)),
      { wrong: 1 },
    ],
    ['with an item missing', (events) => change(events, 4, (item, at) => (at === 2 ? undefined : item)), { wrong: 1 }],
    [
      'with an error for a value',
      (events) => change(events, 4, (item, at) => (at === 1 ? { ...item, tag: 'error' } : item)),
      { wrong: 1 },
    ],
  ]

  test.each(streams)('a stream %s', (_name, spoil, expected) => {
    const device = deviceWithFrames()
    const events = Array.from({ length: sentFrames }, (_, place) => eventOf(device, place + 1))
    spoil(events)
    const comparison = new StreamComparison([device])
    for (const event of events) comparison.add(event)
    expect(comparison.report()).toMatchObject({ ...faultless, ...expected })
  })

  test('has unsent frames, refused frames and frames of other devices', () => {
    const device = deviceWithFrames()
    device.refuse(19)
    const comparison = new StreamComparison([device])
    comparison.add(eventOf(device, 19))
    comparison.add(eventOf(device, sentFrames + 1))
    expect(comparison.report()).toMatchObject({ refusedReceived: 1, wrong: 1 })
    expect(comparison.add({ ...eventOf(device, 1), deviceIdentifier: 'OTHER' })).toBe(false)
  })

  test('may lack values and events for a slow subscriber, and may not have others', () => {
    const device = deviceWithFrames()
    const events = Array.from({ length: sentFrames }, (_, place) => eventOf(device, place + 1))
    change(events, 4, (item, at) => (at === 2 ? undefined : item))
    change(events, 5, (item, at) => (at === 1 ? { ...item, value: 'x' } : item))
    events.splice(9, 1)
    const whole = new StreamComparison([device], 'whole')
    const newest = new StreamComparison([device], 'newest')
    for (const event of events) {
      whole.add(event)
      newest.add(event)
    }
    expect(whole.report()).toMatchObject({ found: 17, lost: 1, wrong: 2 })
    expect(newest.report()).toMatchObject({ found: 17, lost: 0, wrong: 1 })
  })

  test('is not missing when the last event has only narrow values', () => {
    const device = deviceWithFrames()
    const comparison = new StreamComparison([device], 'newest')
    comparison.mark()
    comparison.add({ ...eventOf(device, 2), updates: [] })
    expect(comparison.missingSinceMark()).toEqual([])
  })

  test('lists frames that were acknowledged at a mark and not received', () => {
    const device = deviceWithFrames()
    const comparison = new StreamComparison([device])
    comparison.mark()
    expect(comparison.missingSinceMark()).toHaveLength(1)
    for (let frame = 1; frame <= acknowledgedFrames; frame++) comparison.add(eventOf(device, frame))
    expect(comparison.missingSinceMark()).toEqual([])
  })
})

function change(
  events: ReceivedUpdate[],
  place: number,
  to: (item: ReceivedUpdate['updates'][number], at: number) => ReceivedUpdate['updates'][number] | undefined,
): void {
  const event = events[place]
  if (!event) throw new RangeError(`no event ${place}`)
  events[place] = { ...event, updates: event.updates.flatMap((item, at) => to(item, at) ?? []) }
}
