import { describe, expect, test } from 'vitest'
import type { Hello } from '#actors/device/commands'
import type { Entry } from '#model/entry'
import type { Decision } from '#runtime/actor'
import { indexChangesOf } from '#test/actors/acting-actor'
import { ActingDevice, hello } from '#test/actors/acting-device'

const firmwares = [{ firmware: '1.0.0', index: 0 }]

/** The changes of the firmware indexes in a turn, as `+project_device/boiler/A`. */
const firmwareRowsOf = (decision: Decision<Entry>) =>
  indexChangesOf(decision).filter((change) => /^.(firmware|project_device)\//.test(change))

/** The changes of the firmware indexes by the last of several HELLOs. */
function rowsAfter(...hellos: readonly Partial<Hello>[]): string[] {
  const device = ActingDevice.added()
  return hellos.map((more) => firmwareRowsOf(device.act(hello([], more)))).at(-1) ?? []
}

describe('the firmware indexes change after HELLO with', () => {
  test.each([
    ['no project and no firmware', [{}], []],
    ['a project', [{ project: 'boiler' }], ['+firmware/A', '+project_device/boiler/A']],
    ['a firmware', [{ firmwares }], ['+firmware/A']],
    ['a project and a firmware', [{ project: 'boiler', firmwares }], ['+firmware/A', '+project_device/boiler/A']],
    ['an empty list of firmwares', [{ firmwares: [] }], []],
    ['the same project and firmware as before', Array(2).fill({ project: 'boiler', firmwares }), []],
    ['no project and no firmware after an earlier HELLO with both', [{ project: 'boiler', firmwares }, {}], []],
    ['another version', [{ firmwares }, { firmwares: [{ firmware: '2.0.0', index: 0 }] }], []],
    ['only the setting of automatic updates', [{ project: 'boiler', firmwares }, { isAutoUpdated: false }], []],
    [
      'another project',
      [{ project: 'boiler' }, { project: 'pump', firmwares }],
      ['-project_device/boiler/A', '+project_device/pump/A'],
    ],
    [
      'a project after an earlier HELLO without one',
      [{ firmwares }, { project: 'boiler' }],
      ['+project_device/boiler/A'],
    ],
    ['an empty list after a firmware, without a project', [{ firmwares }, { firmwares: [] }], ['-firmware/A']],
    ['an empty list after a firmware, with a project', [{ project: 'boiler', firmwares }, { firmwares: [] }], []],
  ] as const)('%s', (_, hellos, rows) => {
    expect(rowsAfter(...hellos)).toEqual(rows)
  })

  test('no longer a device, because its removal deletes all rows', () => {
    const device = ActingDevice.added()
    device.act(hello([], { project: 'boiler', firmwares }))
    expect(firmwareRowsOf(device.record({ type: 'remove' }))).toEqual(['-firmware/A', '-project_device/boiler/A'])
    device.act({ type: 'add', flakeAddress: 8, meta: {} })
    expect(firmwareRowsOf(device.record({ type: 'remove' }))).toEqual([])
  })
})

test('the result of an update is not an entry of its device', () => {
  const { definition } = new ActingDevice()
  const of = { device: 'A', at: 1 }
  expect(definition.concerns?.({ kind: 'update_changed', ...of, index: 0, status: 'done' })).toBeUndefined()
  expect(definition.concerns?.({ kind: 'meta_deleted', ...of, key: 'k' })).toBe('A')
})
