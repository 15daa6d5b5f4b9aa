import { describe, expect, test } from 'vitest'
import { SimulatedDevice } from '#bench/fleet/device'
import { decodeChange, encodeChange, isWide, jsonForm } from '#bench/fleet/encoding'
import { FramePlan } from '#bench/fleet/frames'
import type { HeardReport, HeardUpdate } from '#bench/fleet/heard'
import { HeardBooks } from '#bench/fleet/heard'
import { controlsService, deviceKinds, levelService } from '#bench/fleet/kinds'
import { DeviceControls } from '#bench/fleet/writes'

/** A proof that cannot fail proves nothing: every way a stream can be wrong must show in the books. */
describe('what was heard, held against what was sent', () => {
  const sentFrames = 20
  const acknowledgedFrames = 18

  function deviceWithFrames(): SimulatedDevice {
    const [kind] = deviceKinds('mixed', 10)
    if (!kind) throw new Error('no kinds')
    const device = new SimulatedDevice(7, 'SIM-CLIMATE-000007', new FramePlan(kind, 3), 'boot')
    device.welcome(1, 0)
    for (let frame = 1; frame <= sentFrames; frame++) device.next(0, undefined)
    device.acknowledge(acknowledgedFrames)
    return device
  }

  function eventOf(device: SimulatedDevice, number: number): HeardUpdate {
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

  const faultless = { found: acknowledgedFrames, lost: 0, doubled: 0, disordered: 0, wrong: 0, refusedHeard: 0 }

  const streams: readonly (readonly [string, (events: HeardUpdate[]) => unknown, Partial<HeardReport>])[] = [
    ['whole', () => {}, { unacknowledged: 2 }],
    ['without what was never acknowledged', (events) => events.splice(acknowledgedFrames), { unacknowledged: 0 }],
    ['with one lost', (events) => events.splice(4, 1), { found: 17, lost: 1 }],
    ['with the last acknowledged lost', (events) => events.splice(17, 3), { found: 17, lost: 1 }],
    ['with one told twice', (events) => events.splice(4, 0, ...events.slice(3, 4)), { doubled: 1 }],
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
    const books = new HeardBooks([device])
    for (const event of events) books.hear(event)
    expect(books.report()).toMatchObject({ ...faultless, ...expected })
  })

  test('a frame that was never sent, a refused one, and a device of somebody else', () => {
    const device = deviceWithFrames()
    device.refuse(19)
    const books = new HeardBooks([device])
    books.hear(eventOf(device, 19))
    books.hear(eventOf(device, sentFrames + 1))
    expect(books.report()).toMatchObject({ refusedHeard: 1, wrong: 1 })
    expect(books.hear({ ...eventOf(device, 1), deviceIdentifier: 'OTHER' })).toBe(false)
  })

  const isNarrow = (device: SimulatedDevice, event: HeardUpdate, propId: number): boolean => {
    const property = device.plan.property(event.serviceIdentifier, propId)
    return property !== undefined && !isWide(property)
  }

  /** The place of the last frame but a few that has both wide and narrow values, of measurements. */
  function placeOfBoth(device: SimulatedDevice, events: readonly HeardUpdate[]): number {
    return events.findLastIndex((event, place) => {
      const narrow = event.updates.filter(({ propId }) => isNarrow(device, event, propId))
      return place < 8 && narrow.length > 0 && narrow.length < event.updates.length
    })
  }

  test('to the slow, values may be left out that a newer one stands for, and no others', () => {
    const device = deviceWithFrames()
    const events = Array.from({ length: sentFrames }, (_, place) => eventOf(device, place + 1))
    // One without its narrow values, one not told at all, and the very last one without its last value.
    const place = placeOfBoth(device, events)
    change(events, place, (item) => (isNarrow(device, events[place] as HeardUpdate, item.propId) ? undefined : item))
    change(events, sentFrames - 1, (item, at) => (at === 2 ? undefined : item))
    events.splice(place + 1, 1)
    const whole = new HeardBooks([device], 'whole')
    const newest = new HeardBooks([device], 'newest')
    for (const event of events) {
      whole.hear(event)
      newest.hear(event)
    }
    expect(whole.report()).toMatchObject({ lost: 1, wrong: 2, overridden: 0, stripped: 0 })
    expect(newest.report()).toMatchObject({ found: 17, lost: 0, overridden: 1, stripped: 2, wrong: 1 })
  })

  test('an event that only narrow values are left of may be any frame that it fits', () => {
    const device = deviceWithFrames()
    const events = Array.from({ length: sentFrames }, (_, place) => eventOf(device, place + 1))
    const place = placeOfBoth(device, events)
    change(events, place, (item) => (isNarrow(device, events[place] as HeardUpdate, item.propId) ? item : undefined))
    events.splice(place - 2, 2)
    const books = new HeardBooks([device], 'newest')
    for (const event of events) books.hear(event)
    expect(books.report()).toMatchObject({ found: 15, overridden: 3, lost: 0, wrong: 0, stripped: 1 })
  })

  test('what was acknowledged at a mark and not heard is named', () => {
    const device = deviceWithFrames()
    const books = new HeardBooks([device])
    books.mark()
    expect(books.missingSinceMark()).toHaveLength(1)
    for (let frame = 1; frame <= acknowledgedFrames; frame++) books.hear(eventOf(device, frame))
    expect(books.missingSinceMark()).toEqual([])
  })
})

describe('a fleet with levels that flap, and with controls', () => {
  const flap = 3
  const [kind] = deviceKinds('mixed', 10, { isFlapping: true, isControlled: true })
  if (!kind) throw new Error('no kinds')
  const plan = new FramePlan(kind, 4, flap)
  const numbers = Array.from({ length: 60 }, (_, place) => place + 1)

  test.each([0, 7])('crosses the threshold every few frames: device %d', (device) => {
    const levels = numbers.flatMap((number) => {
      const { service, serviceIndex, changes } = plan.frame(device, number)
      expect(kind.services[serviceIndex]).toBe(service)
      expect(changes).toHaveLength(plan.changeCount(device, number))
      return service === levelService ? [{ number, value: changes[0]?.value as number }] : []
    })
    expect(levels).toHaveLength(numbers.length / flap)
    levels.forEach(({ number, value }, place) => {
      expect((number + device) % flap).toBe(0)
      const before = levels[place - 1]
      if (before) expect(value > 50).toBe(before.value < 50)
      const said = JSON.parse(JSON.stringify(value))
      expect(plan.frameNumberOf(levelService.serviceIdentifier, [{ propId: 0x2000, value: said }])).toBe(number)
    })
  })

  test('knows how many changes a frame has in the long run', () => {
    // As many as it takes for every kind of frame to come as often as it does.
    const all = Array.from({ length: 8 * flap }, (_, place) => plan.changeCount(5, place + 1))
    expect(plan.meanChangesPerFrame).toBeCloseTo(all.reduce((sum, count) => sum + count, 0) / all.length, 1)
  })

  test('is held to what it reports, and not to what it was written', () => {
    const device = new SimulatedDevice(7, 'SIM-CLIMATE-000007', plan, 'boot', new DeviceControls('answer'))
    device.welcome(1, 0)
    const [property] = controlsService.properties
    if (!property) throw new Error('there are no controls')
    for (let frame = 1; frame <= 12; frame++) {
      device.next(0, undefined, frame === 6 ? [{ property, value: 21.5 }] : undefined)
    }
    device.acknowledge(12)
    expect(device.frame(6).service).toBe(controlsService)
    expect(device.changeCount(6)).toBe(1)
    const hears = (leftOut: (number: number) => boolean) => {
      const books = new HeardBooks([device])
      books.mark()
      for (let frame = 1; frame <= 12; frame++) {
        const { service, changes } = device.frame(frame)
        const updates = changes.map((each) => ({
          propId: each.property.propId,
          tag: 'value',
          value: jsonForm(each.value),
        }))
        if (leftOut(frame)) continue
        expect(books.hear({ deviceIdentifier: device.identifier, ...service, updates })).toBe(true)
      }
      return { ...books.report(), missing: books.missingSinceMark().length }
    }
    const faultless = { acknowledged: 11, found: 11, lost: 0, wrong: 0, disordered: 0, missing: 0 }
    expect(hears(() => false)).toMatchObject(faultless)
    expect(hears((frame) => frame === 6)).toMatchObject(faultless)
    const crossing = numbers.find((frame) => device.frame(frame).service === levelService)
    expect(hears((frame) => frame === crossing)).toMatchObject({ found: 10, lost: 1 })
  })
})

describe('the number of a change in its value', () => {
  const properties = deviceKinds('mixed', 12)
    .flatMap((kind) => kind.services)
    .flatMap((service) => service.properties)
    .filter(isWide)

  test.each(properties.map((property) => [property.name, property] as const))('%s', (_name, property) => {
    for (const number of [1, 2, 9, 255, 256, 65_537, 1_234_567, 99_999_999]) {
      const read = JSON.parse(JSON.stringify(jsonForm(encodeChange(property, 12_345, number))))
      expect(decodeChange(property, read)).toBe(number)
    }
  })
})

function change(
  events: HeardUpdate[],
  place: number,
  to: (item: HeardUpdate['updates'][number], at: number) => HeardUpdate['updates'][number] | undefined,
): void {
  const event = events[place]
  if (!event) throw new RangeError(`no event ${place}`)
  events[place] = { ...event, updates: event.updates.flatMap((item, at) => to(item, at) ?? []) }
}
