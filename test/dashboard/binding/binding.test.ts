import { describe, expect, test } from 'vitest'
import { type Binding, bindingInWords, coversAllDevices, devicesIn, idOf } from '#dashboard/binding/binding'
import { findTarget } from '#dashboard/binding/target'

const groups = [{ resourceIdentifier: 'crn#group:5Kd9tVw3Cx', name: 'Hall 3', devices: [] }]

test.each<[Binding, string]>([
  [{}, 'all devices'],
  [{ devices: [] }, 'no device'],
  [{ devices: [], groups: [] }, 'no device'],
  [{ devices: ['PUMP-7'] }, 'PUMP-7'],
  [{ devices: ['PUMP-7', 'PUMP-8'] }, '2 devices'],
  [{ devices: ['PUMP-7'], groups: ['5Kd9tVw3Cx'] }, 'PUMP-7, Hall 3'],
  [{ groups: ['6Kd9tVw3Cx'] }, 'group 6Kd9tVw3Cx'],
])('the binding %j reads: %s', (binding, words) => {
  expect(bindingInWords(binding, groups)).toBe(words)
  expect(coversAllDevices(binding)).toBe(words === 'all devices')
})

test('a resource name contains the id', () => {
  expect(idOf('crn#group:5Kd9tVw3Cx')).toBe('5Kd9tVw3Cx')
})

test.each<[string, readonly string[]]>([
  ['', []],
  [' , \n', []],
  ['pump-7', ['PUMP-7']],
  ['PUMP-7, sensor-1\nPUMP-7\tPUMP-8', ['PUMP-7', 'SENSOR-1', 'PUMP-8']],
  ['PUMP-7 PUMP-8  PUMP-9', ['PUMP-7', 'PUMP-8', 'PUMP-9']],
  // The second character of an identifier may be a space. Contract 1.8.
  ['a b1, !;X', ['A B1', '!;X']],
])('a list of devices is read from %j', (text, devices) => {
  expect(devicesIn(text)).toEqual(devices)
})

describe('the search for a device with the chosen service and property', () => {
  const fleet = [
    { deviceIdentifier: 'A', services: [{ serviceIdentifier: 'climate', properties: { 8192: {} } }] },
    { deviceIdentifier: 'B', services: [{ serviceIdentifier: 'climate', properties: { 1: {} } }] },
  ]
  /** Answers as the server does, with the first device that has the service or property. */
  const find: Parameters<typeof findTarget>[0] = async (filter, among) => {
    const [, service, propId] = /"services\.(\w+)(?:\.0x(\w+))?"/.exec(filter) ?? []
    const device = fleet.find(
      ({ deviceIdentifier, services: [only] }) =>
        (among?.includes(deviceIdentifier) ?? true) &&
        only?.serviceIdentifier === service &&
        (propId === undefined || Number.parseInt(propId, 16) in (only?.properties ?? {})),
    )
    return device as unknown as Awaited<ReturnType<typeof find>>
  }

  test.each<[Parameters<typeof findTarget>[1], Awaited<ReturnType<typeof findTarget>>]>([
    [{ service: 'climate', propId: 1, devices: undefined }, { device: 'B' }],
    [
      { service: 'climate', propId: 2, devices: undefined },
      { device: 'A', warning: 'No device has this property.' },
    ],
    [{ service: 'level', devices: undefined }, { warning: 'No device has this service.' }],
    [
      { service: 'climate', propId: 1, devices: ['A'] },
      { device: 'A', warning: 'None of the chosen devices has this property.' },
    ],
    [{ service: 'climate', propId: 1, devices: ['NEW'] }, { warning: 'None of the chosen devices has this service.' }],
    // There are more devices than the search asks for.
    [{ service: 'climate', devices: Array.from({ length: 101 }, (_, number) => `N-${number}`) }, {}],
    // No service or no device is chosen yet.
    [{ service: '', devices: undefined }, {}],
    [{ service: 'level', propId: 1, devices: [] }, {}],
  ])('for %j finds %j', async (target, found) => {
    expect(await findTarget(find, target)).toEqual(found)
  })
})
