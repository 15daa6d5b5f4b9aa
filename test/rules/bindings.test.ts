import { describe, expect, test } from 'vitest'
import { type BindingChange, Bindings } from '#rules/bindings'
import { atOnce } from '#test/rules/synchronous-slices'

const devices = Array.from({ length: 50 }, (_, number) => `D-${number}`).sort()
/** 100 groups, each without one of the devices: no two devices are in the same groups. */
const groups = Array.from({ length: 100 }, (_, number) => `g${number}`)
const membersOf = (group: string) => devices.filter((_, number) => (number * 7 + Number(group.slice(1))) % 50 !== 0)
const named = (isNamed: boolean): BindingChange[] =>
  groups.map((id) => ({
    ...{ kind: 'groups', id },
    before: isNamed ? [] : membersOf(id),
    after: isNamed ? membersOf(id) : [],
  }))

describe('bindings', () => {
  test('return the bindings of a device during a change too', () => {
    const steps: (() => boolean)[] = []
    const bindings = new Bindings<never>((step) => steps.push(step))
    const expectNamed = () => {
      for (const device of devices) {
        expect(bindings.of(device).groups).toEqual(groups.filter((id) => membersOf(id).includes(device)).sort())
      }
    }
    bindings.change(named(true))
    for (let left = 30; left > 0; left--) steps[0]?.()
    expectNamed()
    // Removed and added again before the change was complete.
    bindings.change(named(false))
    for (let left = 30; left > 0; left--) steps[0]?.()
    for (const device of devices) expect(bindings.of(device).groups).toEqual([])
    bindings.change(named(true))
    expectNamed()
    while (steps.at(-1)?.());
    expectNamed()
    expect(steps).toHaveLength(1)
  })

  test('apply many names in short steps', () => {
    let stepMost = 0
    let steps = 0
    const bindings = new Bindings<never>((step) => {
      for (let isLeft = true; isLeft; steps++) {
        const before = moved()
        isLeft = step()
        stepMost = Math.max(stepMost, moved() - before)
      }
    })
    const many = Array.from({ length: 10_000 }, (_, number) => `D${number}`).sort()
    const moved = () => -bindings.of('none').devices
    bindings.change([{ kind: 'rules', id: 'a', before: [], after: many }])
    expect(bindings.of('D9').rules).toEqual(['a'])
    expect(steps).toBeGreaterThan(many.length / 256)
    expect(stepMost).toBeLessThanOrEqual(256)
  })

  test('share one object among devices with equal bindings', () => {
    const bindings = new Bindings<never>(atOnce)
    bindings.change([{ kind: 'rules', id: 'a', before: [], after: ['X', 'Y'] }])
    const before = bindings.of('X')
    bindings.change([{ kind: 'rules', id: 'a', before: ['X', 'Y'], after: ['X', 'Z'] }])
    expect(bindings.of('X')).toBe(before)
    expect(bindings.of('Z')).toBe(before)
    expect([before.rules, before.devices, bindings.of('Y').rules]).toEqual([['a'], 2, []])
  })
})
