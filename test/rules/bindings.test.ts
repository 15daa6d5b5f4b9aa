import { describe, expect, test } from 'vitest'
import { type BindingChange, Bindings, bindingChanges } from '#rules/bindings'

const devices = Array.from({ length: 50 }, (_, number) => `D-${number}`)
/** A hundred groups, each without some of the devices: no two devices are in the same ones. */
const groups = Array.from({ length: 100 }, (_, number) => `g${number}`)
const membersOf = (group: string) => devices.filter((_, number) => (number * 7 + Number(group.slice(1))) % 50 !== 0)
const named = (isNamed: boolean): BindingChange[] =>
  groups.map((id) => ({ kind: 'groups', id, devices: membersOf(id), isNamed }))

describe('bindings', () => {
  test('move a device once, in however many groups it comes to be named at once, or ceases to be', () => {
    const bindings = new Bindings<never>()
    expect(bindings.change(named(true))).toBe(devices.length)
    for (const device of devices) {
      expect(bindings.of(device).groups).toEqual(groups.filter((id) => membersOf(id).includes(device)).sort())
    }
    expect(bindings.change(named(false))).toBe(devices.length)
    for (const device of devices) expect(bindings.of(device)).toBe(bindings.of('none'))
  })

  test('leave a device where it is that is named in nothing else', () => {
    const bindings = new Bindings<never>()
    bindings.change(bindingChanges('rules', 'a', [], ['X', 'Y']))
    const before = bindings.of('X')
    expect(bindings.change(bindingChanges('rules', 'a', ['X', 'Y'], ['X', 'Z']))).toBe(2)
    expect(bindings.of('X')).toBe(before)
    expect(bindings.of('Z')).toBe(before)
    expect([before.rules, before.devices, bindings.of('Y').rules]).toEqual([['a'], 2, []])
    expect(bindings.change([{ kind: 'rules', id: 'a', devices: ['X'], isNamed: true }])).toBe(0)
  })
})
