import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { HelloMessage, LinkBody, propertiesMax, ShortUpdateMessage, servicesMax } from '#model/link-message'
import { detailsMax } from '#model/problem'
import { DeviceMessage, LongDeviceMessage, ServerMessage } from '#test/kit/link-messages'

const service = '0f8fad5b-d9cb-469f-a165-70867728950e'
const property = { propId: 8192, type: 'UINT8', value: 7 }
const hello = {
  ...{ type: 'HELLO', deviceIdentifier: 'DEV-1' },
  services: [{ serviceIdentifier: service, properties: [property] }],
}
const updates = [{ propId: 8192, value: 7 }]
const update = { type: 'UPDATE', flakeAddress: 1, seq: 1, serviceIdentifier: service, updates }
const result = { type: 'RESULT', flakeAddress: 1, id: 'w1', results: [{ propId: 8192, status: 'OK' }] }
const firmwareStatus = { type: 'FIRMWARE_STATUS', flakeAddress: 1, id: 'f1', status: 'STARTED' }
const welcome = { type: 'WELCOME', flakeAddress: 1, deviceIdentifier: 'DEV-1', seq: 0, window: 1024, timestamp: 1 }
const write = { type: 'WRITE', flakeAddress: 1, id: 'w1', serviceIdentifier: service, updates }
const firmware = {
  ...{ type: 'FIRMWARE', flakeAddress: 1, id: 'f1', firmware: '1.2.3', index: 0, url: 'https://a.example/x', size: 10 },
  sha256: 'ab'.repeat(32),
}
const body = { deviceIdentifier: 'DEV-1', updates: [{ serviceIdentifier: service, propId: 8192, value: 7 }] }

/** HELLO with one service of these properties. */
function declaring(...properties: object[]) {
  return { ...hello, services: [{ serviceIdentifier: 's', properties }] }
}

function withoutProperties(serviceIdentifier: string) {
  return { serviceIdentifier, properties: [] }
}

function services(count: number) {
  return Array.from({ length: count }, (_, index) => withoutProperties(`s${index}`))
}

function properties(count: number) {
  const declared = Array.from({ length: count }, (_, propId) => ({ ...property, propId }))
  return [{ serviceIdentifier: 's', properties: declared }]
}

const firmwares = [
  { firmware: '1.2.3', hardware: 'rev-B', index: 0 },
  { firmware: '0.1.0-rc.1', index: 255 },
]

test.each<[string, unknown]>([
  ['HELLO', { ...hello, autoUpdate: false }],
  ['HELLO with everything', { ...hello, session: 's'.repeat(36), project: 'p.1', firmwares, autoUpdate: true }],
  ['HELLO without services', { ...hello, autoUpdate: true, services: [] }],
  ['HELLO with the most services', { ...hello, autoUpdate: true, services: services(servicesMax) }],
  ['HELLO with the most properties', { ...hello, autoUpdate: true, services: properties(propertiesMax) }],
  ['UPDATE', update],
  ['UPDATE with time', { ...update, timestamp: 1 }],
  ['UPDATE with error', { ...update, updates: [{ propId: 1, error: 'broken' }, update.updates[0]] }],
  ['UPDATE with null', { ...update, updates: [{ propId: 1, value: null }] }],
  ['UPDATE with any value', { ...update, updates: [{ propId: 2, value: [1n] }] }],
  ['UPDATE short', ['U', 1, 1, 0, [8192, 7]]],
  ['UPDATE short with time', ['U', 1, 2, 63, [8192, 7, 8193, { e: 'broken' }], 1]],
  ['RESULT', result],
  ['RESULT refused', { ...result, results: [{ propId: 1, status: 'REJECTED', message: 'locked' }] }],
  ['FIRMWARE_STATUS', firmwareStatus],
  ['FIRMWARE_STATUS with progress', { ...firmwareStatus, status: 'DOWNLOADING', progress: 12.5, message: 'slow' }],
  ['BYE', { type: 'BYE', flakeAddress: 1 }],
])('a device may send %s', (_name, message) => {
  expect(DeviceMessage.parse(message)).toEqual(message)
})

test.each<[string, unknown]>([
  ['WELCOME', welcome],
  ['WELCOME with secret', { ...welcome, secret: 'x' }],
  ['ACK', { type: 'ACK', flakeAddress: 1, seq: 3 }],
  ['ACK short', ['A', 1, 3]],
  ['WRITE', write],
  ['FIRMWARE', firmware],
  ['FIRMWARE with hardware', { ...firmware, hardware: 'rev-B' }],
  ['ERROR', { type: 'ERROR', code: 'FLAPPING', message: 'too often' }],
  ['ERROR of a message', { type: 'ERROR', code: 'BAD_VALUE', message: 'no', flakeAddress: 1, seq: 1 }],
])('the server may send %s', (_name, message) => {
  expect(ServerMessage.parse(message)).toEqual(message)
})

describe('a message is refused', () => {
  const long: [string, Record<string, unknown>, z.ZodType][] = [
    ['HELLO', hello, DeviceMessage],
    ['UPDATE', update, DeviceMessage],
    ['RESULT', result, DeviceMessage],
    ['FIRMWARE_STATUS', firmwareStatus, DeviceMessage],
    ['BYE', { type: 'BYE', flakeAddress: 1 }, DeviceMessage],
    ['WELCOME', welcome, ServerMessage],
    ['ACK', { type: 'ACK', flakeAddress: 1, seq: 3 }, ServerMessage],
    ['WRITE', write, ServerMessage],
    ['FIRMWARE', firmware, ServerMessage],
    ['ERROR', { type: 'ERROR', code: 'STORAGE', message: 'full' }, ServerMessage],
    ['POST /link', body, LinkBody],
  ]
  test.each(long)('%s is refused without a field or with a wrong one', (_name, message, schema) => {
    expect(schema.safeParse(message).success).toBe(true)
    for (const key of Object.keys(message)) {
      const { [key]: _gone, ...rest } = message
      expect(schema.safeParse(rest).success).toBe(false)
      for (const wrong of [null, {}, -1, '', '/', true]) {
        expect(schema.safeParse({ ...message, [key]: wrong }).success, `${key}: ${wrong}`).toBe(mayBe(key, wrong))
      }
    }
  })

  /** A text for users may be empty or any text. */
  function mayBe(key: string, value: unknown): boolean {
    return (key === 'message' && typeof value === 'string') || (key === 'id' && value === '/')
  }

  test.each<[string, unknown]>([
    ['nothing', null],
    ['a text', 'HELLO'],
    ['an empty object', {}],
    ['an empty array', []],
    ['an unknown type', { type: 'WHAT' }],
    ['a type of the server', welcome],
    ['a type in lower case', { ...hello, type: 'hello' }],
    ['device *', { ...hello, deviceIdentifier: '*' }],
    ['an empty session', { ...hello, session: '' }],
    ['a long session', { ...hello, session: 's'.repeat(37) }],
    ['a session with a lone surrogate', { ...hello, session: '\ud800' }],
    ['a message with a lone surrogate', { ...firmwareStatus, message: '\udc00' }],
    ['a project with a slash', { ...hello, project: 'a/b' }],
    ['autoUpdate as text', { ...hello, autoUpdate: 'true' }],
    ['one service too many', { ...hello, services: services(servicesMax + 1) }],
    ['one property too many', { ...hello, services: properties(propertiesMax + 1) }],
    ['a service twice', { ...hello, services: [...services(2), ...services(1)] }],
    ['a service in two cases', { ...hello, services: [service, service.toUpperCase()].map(withoutProperties) }],
    ['a property twice', declaring(property, property)],
    ['an unknown data type', declaring({ ...property, type: 'UINT7' })],
    ['a stream type', declaring({ ...property, type: 'string-stream' })],
    ['a flag that is not a boolean', declaring({ ...property, modifier: { isReadOnly: 1 } })],
    ['firmware without a version', { ...hello, firmwares: [{ firmware: 'v1', index: 0 }] }],
    ['firmware without index', { ...hello, firmwares: [{ firmware: '1.0.0' }] }],
    ['firmware index too high', { ...hello, firmwares: [{ firmware: '1.0.0', index: 256 }] }],
    ['firmware index negative', { ...hello, firmwares: [{ firmware: '1.0.0', index: -1 }] }],
    ['firmware index that is a fraction', { ...hello, firmwares: [{ firmware: '1.0.0', index: 0.5 }] }],
    ['firmware index twice', { ...hello, firmwares: [firmwares[1], firmwares[1]] }],
    ['hardware with a space', { ...hello, firmwares: [{ firmware: '1.0.0', index: 0, hardware: 'a b' }] }],
    ['seq 0', { ...update, seq: 0 }],
    ['no updates', { ...update, updates: [] }],
    ['an empty update', { ...update, updates: [{ propId: 1 }] }],
    ['an update of value and error', { ...update, updates: [{ propId: 1, value: 1, error: 'x' }] }],
    ['an update whose error is not a text', { ...update, updates: [{ propId: 1, error: 1 }] }],
    ['too many updates', { ...update, updates: Array(propertiesMax + 1).fill({ propId: 1, value: 1 }) }],
    ['a time before 1970', { ...update, timestamp: -1 }],
    ['a short update of an unknown kind', ['X', 1, 1, 0, [1, 1]]],
    ['a short update without updates', ['U', 1, 1, 0, []]],
    ['a short update with a property without a value', ['U', 1, 1, 0, [1, 1, 2]]],
    ['a short update with a bad id', ['U', 1, 1, 0, [1, 1, '2', 2]]],
    ['a short update of service 64', ['U', 1, 1, 64, [1, 1]]],
    ['a short update of service -1', ['U', 1, 1, -1, [1, 1]]],
    ['a short update of seq 0', ['U', 1, 0, 0, [1, 1]]],
    ['a short update of device 0', ['U', 0, 1, 0, [1, 1]]],
    ['a short update with an additional element', ['U', 1, 1, 0, [1, 1], 1, 1]],
    ['a short update with a bad time', ['U', 1, 1, 0, [1, 1], 'now']],
    ['progress above 100', { ...firmwareStatus, progress: 101 }],
    ['two results for one property', { ...result, results: [...result.results, ...result.results] }],
    ['a result of another type', { ...result, results: [{ propId: 1, status: 'SENT' }] }],
  ])('for %s', (_name, message) => {
    expect(DeviceMessage.safeParse(message).success).toBe(false)
  })
})

describe('unknown fields', () => {
  const more = { later: true }
  const marked = { ...property, modifier: more }
  test('are ignored in frames, at every level', () => {
    const modifier = { isReadOnly: true }
    const declared = { ...property, modifier: { ...modifier, ...more }, ...more }
    const services = [{ serviceIdentifier: service, ...more, properties: [declared] }]
    const firmwares = [{ firmware: '1.0.0', index: 0, ...more }]
    expect(DeviceMessage.parse({ ...hello, ...more, autoUpdate: true, firmwares, services })).toEqual({
      ...{ ...hello, autoUpdate: true },
      firmwares: [{ firmware: '1.0.0', index: 0 }],
      services: [{ serviceIdentifier: service, properties: [{ ...property, modifier }] }],
    })
    expect(DeviceMessage.parse({ ...update, ...more, updates: [{ propId: 1, value: 1, ...more }] })).toEqual({
      ...update,
      updates: [{ propId: 1, value: 1 }],
    })
  })

  test.each<[string, unknown]>([
    ['of the body', { ...body, ...more }],
    ['of an update', { ...body, updates: [{ ...body.updates[0], ...more }] }],
    ['of a service', { ...body, services: [{ serviceIdentifier: 's', properties: [], ...more }] }],
    ['of a property', { ...body, services: [{ serviceIdentifier: 's', properties: [{ ...property, ...more }] }] }],
    ['of a modifier', { ...body, services: [{ serviceIdentifier: 's', properties: [marked] }] }],
  ])('are refused in POST /link: %s', (_name, bad) => {
    expect(LinkBody.safeParse(bad).success).toBe(false)
  })
})

test('identifiers and types have a normal form, and autoUpdate is true by default', () => {
  const properties = [{ ...property, type: 'uint8' }]
  const message = {
    ...hello,
    deviceIdentifier: 'dev-1',
    services: [{ serviceIdentifier: service.toUpperCase(), properties }],
  }
  expect(HelloMessage.parse(message)).toEqual({ ...hello, autoUpdate: true })
})

test('a declared property may have no value', () => {
  const message = { ...declaring({ propId: 1, type: 'BOOL' }), autoUpdate: true }
  expect(HelloMessage.parse(message)).toEqual(message)
})

test('faults name their path', () => {
  const twice = declaring(property, property)
  expect(LongDeviceMessage.safeParse(twice).error?.issues[0]?.path).toEqual(['services', 0, 'properties', 1, 'propId'])
  expect(ShortUpdateMessage.safeParse(['U', 1, 1, 0, [1, 1]]).success).toBe(true)
})

test.each<[string, unknown]>([
  ['whole', { ...body, session: 's', seq: 1, services: hello.services }],
  ['without updates', { ...body, updates: [] }],
  ['with time', { ...body, updates: [{ ...body.updates[0], timestamp: 1 }] }],
])('POST /link accepts a body %s', (_name, good) => {
  expect(LinkBody.parse(good)).toEqual(good)
})

test.each<[string, unknown]>([
  ['null', { ...body, updates: [{ ...body.updates[0], value: null }] }],
  ['no value', { ...body, updates: [{ serviceIdentifier: 's', propId: 1 }] }],
  ['a long session', { ...body, session: 's'.repeat(37) }],
  ['too many updates', { ...body, updates: Array(4097).fill(body.updates[0]) }],
])('POST /link refuses %s', (_name, bad) => {
  expect(LinkBody.safeParse(bad).success).toBe(false)
})

test.each<[string, unknown]>([
  ['declarations', { ...body, services: Array(64).fill({ serviceIdentifier: 's', properties: Array(64).fill({}) }) }],
  ['repeated properties', { ...body, services: [{ serviceIdentifier: 's', properties: Array(1_024).fill(property) }] }],
  ['updates', { ...body, updates: Array(4_096).fill({}) }],
])('POST /link reports only the maximum number of faults: %s', (_name, bad) => {
  const count = LinkBody.safeParse(bad).error?.issues.length
  expect(count).toBeGreaterThanOrEqual(detailsMax)
  expect(count).toBeLessThan(detailsMax + 100)
})
