import { expect, test } from 'vitest'
import { anonymous } from '#access/built-in-callers'
import { ServiceState } from '#actors/device/service-state'
import { absentDevice, type DeviceState } from '#actors/device/state'
import type { TenantState } from '#actors/tenant/state'
import type { PropertyState } from '#model/entry'
import { fullDepth, StateText, type TextOrParts } from '#routes/state-text'
import { shapeOf } from '#test/actors/acting-device'

const tenant = { schemas: new Map([['svc-0', { name: 'Svc', properties: { '0x0001': { name: 'first' } } }]]) }
const properties = Object.fromEntries(Array.from({ length: 40 }, (_, propId) => [propId, 'string']))

/** A device with this many services. Each property has the same value, but the last one is unset. */
function deviceAt(services: number, value: PropertyState): DeviceState {
  const state: DeviceState = { ...absentDevice('A'), exists: true }
  state.services = Array.from({ length: services }, (_, place) => {
    const service = new ServiceState(shapeOf(`svc-${place}`, properties))
    for (let index = 0; index < 39; index++) service.set(index, value, 1_000, 1)
    return service
  })
  return state
}

const texts = (isRaw: boolean) =>
  new StateText(anonymous, tenant as unknown as TenantState, { depth: fullDepth, isRaw, isHex: false })

const wholeOf = (text: TextOrParts) => (typeof text === 'string' ? text : [...text].join(''))

test.each([
  ['raw', true],
  ['named', false],
])('the parts of a long text, joined, are the same JSON as a short text: %s', (_, isRaw) => {
  const text = texts(isRaw)
  const short = text.device(deviceAt(3, 'x'))
  const parts = text.device(deviceAt(3, 'x'.repeat(20_000)))
  if (typeof short !== 'string' || typeof parts === 'string')
    throw new Error('expected one whole text and one in parts')
  const all = [...parts]
  expect(Math.max(...all.map(({ length }) => length))).toBeLessThan(60_000)
  expect(all.join('').replaceAll(/x+/g, 'x')).toBe(short)
})

test('each entry of a long device is the JSON of its list', () => {
  const state = deviceAt(2, '\u0001'.repeat(10_000))
  const [service] = state.services as [ServiceState]
  const text = texts(true)
  const device = JSON.parse(wholeOf(text.device(state)))
  const entry = JSON.parse(wholeOf(text.serviceOfDevice(service)))
  expect(JSON.parse(wholeOf(text.services(state)))).toEqual(device.services)
  expect(entry).toEqual(device.services[0])
  expect(JSON.parse(wholeOf(text.properties(service)))).toEqual(entry.properties)
  expect(JSON.parse(wholeOf(text.deviceOfService('A', service)))).toEqual({
    deviceIdentifier: 'A',
    properties: entry.properties,
  })
})

test('the text of a service shows one moment, however slowly the client reads it', () => {
  const state = deviceAt(1, 'x'.repeat(20_000))
  const [service] = state.services as [ServiceState]
  const parts = texts(true).properties(service) as Iterable<string>
  let all = ''
  for (const part of parts) {
    all += part
    for (let index = 0; index < 39; index++) service.set(index, 'y', 2_000, 2)
  }
  expect(all.includes('"y"')).toBe(false)
})
