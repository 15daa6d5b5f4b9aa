import { expect, test } from 'vitest'
import { type Binding, bindingInWords, idOf, isAboutAll } from '#dashboard/binding/binding'
import { devicesIn, suggestedDevices } from '#dashboard/binding/device-list'
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
])('%j in words: %s', (binding, words) => {
  expect(bindingInWords(binding, groups)).toBe(words)
  expect(isAboutAll(binding)).toBe(words === 'all devices')
})

test('the id of a resource name', () => {
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
])('the devices in %j', (text, devices) => {
  expect(devicesIn(text)).toEqual(devices)
})

test('suggestions read only the first fitting devices of a large fleet', () => {
  let readCount = 0
  function* fleet() {
    for (let number = 0; number < 100_000; number++) {
      readCount++
      yield `PUMP-${number}`
    }
  }
  const chosen = new Set(Array.from({ length: 5_000 }, (_, number) => `PUMP-${number}`))
  const fitting = suggestedDevices(fleet(), 'PUMP', chosen)
  expect([fitting.length, fitting[0], readCount]).toEqual([200, 'PUMP-5000', 5_201])
  expect(suggestedDevices(['PUMP-7', 'SENSOR-7', 'SENSOR-8'], '7', new Set(['PUMP-7']))).toEqual(['SENSOR-7'])
})

test('a target that no device has is warned about', () => {
  const [climate, pump] = [new Map([[0x2000, {}]]), new Map([[1, {}]])]
  const device = (services: object) => ({ services: new Map(Object.entries(services)) })
  const all = new Map([
    ['A', device({ climate })],
    ['B', device({ climate: pump })],
  ]) as unknown as Parameters<typeof findTarget>[0]
  const found = (service: string, propId?: number, devices?: readonly string[]) =>
    findTarget(all, { service, propId, devices })
  expect(found('climate', 1)).toEqual({ sample: pump })
  expect(found('climate', 2)).toEqual({ sample: climate, warning: 'No device has this property.' })
  expect(found('level').warning).toBe('No device has this service.')
  expect(found('climate', 1, ['A']).warning).toBe('None of the chosen devices has this property.')
  expect(found('climate', 1, ['NEW']).warning).toBe('None of the chosen devices has this service.')
  // The service is not chosen yet, or it applies to no device anyway.
  expect([found(''), found('level', 1, [])]).toEqual([{}, {}])
})
