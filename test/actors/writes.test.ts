import { describe, expect, test } from 'vitest'
import type { DeviceCommand, DeviceCommands, WriteOrder } from '#actors/device/commands'
import { modifierFlags } from '#model/modifier'
import { ServiceSchema } from '#model/service-schema'
import { ActingDevice, hello, report, shapeOf } from '#test/actors/acting-device'

const shape = shapeOf('svc', {
  1: 'uint8',
  2: 'string',
  3: ['float', modifierFlags.isReadOnly],
  4: ['bool', modifierFlags.isActionable],
  8192: 'int64',
})
const schema = ServiceSchema.parse({
  name: 'S',
  properties: {
    '0x1': { name: 'mode', enum: { '0': { name: 'OFF' }, '1': { name: 'ON' } }, rangeMax: 10 },
    '0x2': { name: 'label', readonly: true },
    '0x4': { name: 'reset' },
  },
})

function declared(): ActingDevice {
  const device = ActingDevice.added()
  device.act(hello([{ shape, items: [] }]))
  return device
}

function write(values: Readonly<Record<string, unknown>>, more: Partial<DeviceCommands['write']> = {}): DeviceCommand {
  return { type: 'write', service: 'svc', values, schema, ...more }
}

/** The order to the device as propIds and values, or the code, text and details of the error. */
function outcome(
  values: Readonly<Record<string, unknown>>,
  more: Partial<DeviceCommands['write']> = {},
  device = declared(),
) {
  const decision = device.act(write(values, more))
  if (decision.type === 'refuse') {
    const { code, message, details } = decision.problem
    return details ? [code, details.map(({ path, message }) => `${path} ${message}`)] : [code, message]
  }
  if (decision.type === 'record') throw new Error('a write records nothing')
  const { updates } = decision.value as WriteOrder
  return updates.map(({ propId, value }) => [propId, value])
}

describe('a write', () => {
  test('that is valid sends an order to the device, and stores nothing', () => {
    const device = declared()
    const decision = device.act(write({ mode: 'ON', '0x2000': '9223372036854775807', '4.bool': true }))
    const updates = [
      { propId: 1, type: shape.properties[0]?.type, value: 1 },
      { propId: 8192, type: shape.properties[4]?.type, value: '9223372036854775807' },
      { propId: 4, type: shape.properties[3]?.type, value: true },
    ]
    expect(decision).toEqual({ type: 'answer', value: { flakeAddress: 7, service: 'svc', updates } })
    expect(device.state.services[0]?.states()).toEqual([null, null, null, null, null])
  })

  test('of the present value, or to a property with an error, is sent as any other value', () => {
    const device = declared()
    device.act(report(shape, 1, [0, { error: 'broken' }, 3, true, 4, 7]))
    expect(outcome({ '1': 5, reset: true, '8192': 7 }, {}, device)).toEqual([
      [1, 5],
      [8192, 7],
      [4, true],
    ])
  })

  test.each<[string, ActingDevice, Partial<DeviceCommands['write']>]>([
    ['a device that does not exist', new ActingDevice(), {}],
    ['a service that the device lacks', declared(), { service: 'other' }],
  ])('to %s is 404 before any other error', (_, device, more) => {
    expect(outcome({ nowhere: 1, '3': 'x' }, more, device)).toEqual(['not_found', 'Not Found'])
  })

  test.each<[string, Readonly<Record<string, unknown>>, string]>([
    ['an id', { '5': 1 }, '5'],
    ['an id of another type', { '0x1.FLOAT': 1 }, '0x1.FLOAT'],
    ['a name', { Mode: 1 }, 'Mode'],
    ['a name of a property of every JavaScript object', { constructor: 1 }, 'constructor'],
    ['a name among other errors', { '3': 1, mode: 'x', nowhere: 1 }, 'nowhere'],
    ['a very long name', { ['x'.repeat(10_000)]: 1 }, 'x'.repeat(256)],
  ])('with %s that is unknown is 404 before other errors', (_, values, key) => {
    expect(outcome(values)).toEqual(['property_unknown', `there is no property ${key}`])
  })

  test('by name needs a schema', () => {
    expect(outcome({ mode: 1 }, { schema: undefined })).toEqual(['property_unknown', 'there is no property mode'])
    expect(outcome({ '0x2': 'x' }, { schema: undefined })).toEqual([[2, 'x']])
  })

  test('with errors names each of them with its key, and sends nothing', () => {
    expect(outcome({ mode: 'x', label: 'y', '3': 1, '0x4': 1, '0x2000': 7 })).toEqual([
      'invalid',
      [
        '3 is read-only',
        'mode must be an integer from 0 to 255, or a name of its enumeration',
        'label is read-only',
        '0x4 must be true or false',
      ],
    ])
    expect(outcome({ '1': 10 })).toEqual(['invalid', ['1 must be below 10']])
  })

  test('can have each property only once', () => {
    expect(outcome({ '0x1': 1, mode: 1, '0x01': 2 })).toEqual([
      'invalid',
      ['mode means the same as 0x1', '0x01 means the same as 0x1'],
    ])
  })

  test('with very many errors names a hundred of them', () => {
    const many = shapeOf('svc', Object.fromEntries(Array.from({ length: 200 }, (_, index) => [index, 'uint8'])))
    const device = ActingDevice.added()
    device.act(hello([{ shape: many, items: [] }]))
    const values = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [index, 'x']))
    expect(outcome(values, {}, device)[1]).toHaveLength(100)
  })
})
