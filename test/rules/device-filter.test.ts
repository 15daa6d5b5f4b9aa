import { describe, expect, test } from 'vitest'
import { FilterCondition } from '#model/condition'
import type { PropertyState } from '#model/entry'
import type { JsonObject, JsonValue } from '#model/json-value'
import type { ServiceSchema } from '#model/service-schema'
import type { Shape } from '#model/shape'
import { compileFilter, deviceWithName, type FilteredDevice, type FilterSource } from '#rules/device-filter'
import { shapeOf } from '#test/actors/acting-device'
import { schema } from '#test/rules/stored-rules'

const climate = shapeOf('Climate', { 8192: 'float', 8193: 'string' })
const power = shapeOf('Climate.Power', { 12288: 'uint8' })
const schemas = new Map<string, ServiceSchema>([
  ['Climate', schema({ Temperature: 0x2000, 'Power.Mode': 0x2001 })],
  ['Climate.Power', schema({ Mode: 0x3000 })],
])

function service(of: Shape, ...states: PropertyState[]) {
  return { shape: of, stateOf: (index: number) => states[index] ?? null }
}

const meta: JsonObject = {
  ...{ site: { floor: 0, 'a.b': 1, a: { b: 2, c: 3 }, tags: ['x', 'y'] }, 'site.room': 'K' },
  ...{ 'a.b.c': 'whole', a: { 'b.c': 'split' }, name: 'Boiler', '.': 'dot', x: { '': 'empty' } },
}

const services = [service(climate, 21.5, 'eco'), service(power, 3)]
const device: FilteredDevice = { device: 'SENSOR-1', status: 'online', meta, services }

const all: FilterSource = { tenant: { schemas }, mayReadService: () => true, mayReadMeta: () => true }

function isFound(condition: JsonValue, source = all, of = device): boolean {
  return compileFilter(FilterCondition.parse(condition)).matches(of, source)
}

/** The candidate values that a path reads. */
function read(path: string, source = all, of = device): unknown {
  const texts = 'eco online SENSOR-1 K whole split Boiler dot empty'.split(' ')
  const candidates: JsonValue[] = [null, 0, 1, 2, 3, 21.5, ...texts]
  return candidates.filter((value) => isFound({ '===': [{ var: [path, null] }, value] }, source, of))
}

describe('a path', () => {
  test.each<[path: string, value: JsonValue]>([
    ['deviceIdentifier', 'SENSOR-1'],
    ['status', 'online'],
    ['meta.name', 'Boiler'],
    ['meta.site.floor', 0],
    ['meta.site.a.b', 1],
    ['meta.site.a.c', 3],
    ['meta.site.room', 'K'],
    ['meta.a.b.c', 'whole'],
    ['meta..', 'dot'],
    ['meta.x.', 'empty'],
    ...[
      'site.none',
      'site.tags.0',
      'site.tags.length',
      'name.length',
      'toString',
      '__proto__',
      'site.constructor',
      '',
    ].map((key): [string, null] => [`meta.${key}`, null]),
    ['services.Climate.Temperature', 21.5],
    ['services.Climate.0x2000', 21.5],
    ['services.Climate.0x2000.FLOAT', 21.5],
    ['services.Climate.0x2000.UINT8', null],
    ['services.Climate.Power.Mode', 3],
    ['services.Climate.Power.0x3000', 3],
    ['services.Climate.None', null],
    ['services.Clim.Temperature', null],
    ['services.None.Temperature', null],
  ])('%s reads %j', (path, value) => {
    expect(read(path)).toEqual([value])
  })

  test('belongs to the longest service name that the device has and the user may read', () => {
    expect(read('services.Climate.Power.Mode', all, { ...device, services: services.slice(0, 1) })).toEqual(['eco'])
    const source = { ...all, mayReadService: (_: string, name: string) => name === 'Climate' }
    expect(read('services.Climate.Power.Mode', source)).toEqual(['eco'])
  })

  test('may write a UUID service in upper or lower case', () => {
    const uuid = '5f2a7c10-0001-4b6d-9e3f-a0000000000a'
    const named = { ...device, services: [service(shapeOf(uuid, { 8192: 'float' }), 21.5)] }
    for (const name of [uuid, uuid.toUpperCase()]) {
      expect(read(`services.${name}.0x2000`, all, named)).toEqual([21.5])
    }
    // Other service names are case-sensitive.
    expect(read('services.CLIMATE.Temperature')).toEqual([null])
  })

  test('follows the current schema', () => {
    const filter = compileFilter({ '===': [{ var: 'services.Climate.Temperature' }, 21.5] })
    const renamed = new Map([['Climate', schema({ Heat: 0x2000 })]])
    expect(filter.matches(device, all)).toBe(true)
    expect(filter.matches(device, { ...all, tenant: { schemas: renamed } })).toBe(false)
    expect(filter.matches(device, { ...all, tenant: { schemas: new Map() } })).toBe(false)
    expect(filter.matches(device, all)).toBe(true)
  })

  test.each([
    ...['name', 'Meta', 'metadata', 'services', 'services.', 'services.Climate.', 'services..Temperature'],
    ...['__proto__', 'deviceIdentifier.length'],
  ])('cannot be %s', (path) => {
    const compile = () => compileFilter({ and: [true, { '!': { var: [path] } }, { missing: [path] }] })
    const details = ['filter.and.1.!.var.0', 'filter.and.2.missing.0'].map((path) => expect.objectContaining({ path }))
    expect(compile).toThrow(expect.objectContaining({ code: 'invalid', details }))
  })
})

describe('a user without permission', () => {
  test('sees no metadata and no status of the device', () => {
    const source = { ...all, mayReadMeta: (of: string) => of !== 'SENSOR-1' }
    expect(read('status', source)).toEqual([null])
    expect(read('meta.name', source)).toEqual([null])
    expect(isFound({ '!': { var: 'meta' } }, source)).toBe(true)
    expect(read('services.Climate.Temperature', source)).toEqual([21.5])
    expect(read('meta.name', source, { ...device, device: 'SENSOR-2' })).toEqual(['Boiler'])
  })

  test('finds no device by its service', () => {
    const source = { ...all, mayReadService: () => false }
    const path = { var: 'services.Climate.Temperature' }
    for (const condition of [{ '>': [path, 0] }, { '<=': [path, 0] }, { or: [path, true] }]) {
      expect(isFound(condition, source)).toBe(false)
      expect(isFound({ '!': condition }, source)).toBe(false)
    }
  })
})

describe('a device is not found', () => {
  const path = 'services.Climate.Temperature'

  test('while a property of the filter has no value or an error', () => {
    for (const state of [null, { error: 'E' }]) {
      const silent = { ...device, services: [service(climate, state)] }
      expect(isFound({ or: [true, { var: path }] }, all, silent)).toBe(false)
      expect(isFound({ '>': [{ var: [path, 99] }, 90] }, all, silent)).toBe(true)
      expect(isFound({ missing: [path] }, all, silent)).toBe(true)
    }
  })

  test('if the condition fails', () => {
    expect(isFound({ '==': [{ var: 'meta.name' }, 1] })).toBe(false)
    expect(isFound({ '!=': [{ var: 'meta.name' }, 1] })).toBe(false)
  })

  test('by comparing an object, but the object counts as present', () => {
    expect(isFound({ '==': [{ var: 'meta.site' }, null] })).toBe(false)
    expect(isFound({ '!=': [{ var: 'meta.site' }, null] })).toBe(true)
    expect(isFound({ '!!': { var: 'meta.site' } })).toBe(true)
  })
})

test('a filter by names needs no state', () => {
  const filter = compileFilter({ in: [{ var: 'deviceIdentifier' }, ['SENSOR-1', 'SENSOR-2']] })
  expect(filter.needsState).toBe(false)
  expect(['SENSOR-1', 'SENSOR-3'].map((name) => filter.matches(deviceWithName(name), all))).toEqual([true, false])
  expect(compileFilter({ '!': { var: 'status' } }).needsState).toBe(true)
  expect(compileFilter(true).matches(deviceWithName('A'), all)).toBe(true)
})
