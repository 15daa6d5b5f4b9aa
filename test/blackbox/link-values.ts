import { expect, test } from 'vitest'
import type { Protocol } from '#test/blackbox/link-client'
import type { LinkGround } from '#test/blackbox/link-ground'
import { noModifier } from '#test/blackbox/sensor'

/** As a device holds it: 64-bit integers as bigint, BINARY as bytes. */
type Native = number | bigint | boolean | string | Uint8Array | readonly Native[]

const bytes = new Uint8Array([0, 1, 127, 128, 255, 10])
const uuid = '0F8FAD5B-D9CB-469F-A165-70867728950E'
const moment = 1_790_000_000_123

/** Type, value, and how it is shown where that is not the JSON form of the value. Contract 3.8. */
const good: readonly (readonly [type: string, value: Native, shown?: unknown])[] = [
  ['UINT8', 0],
  ['UINT8', 255],
  ['UINT16', 65_535],
  ['UINT32', 4_294_967_295],
  ['UINT64', 42],
  ['UINT64', 42n, 42],
  ['UINT64', 9_007_199_254_740_991n, 9_007_199_254_740_991],
  ['UINT64', 9_007_199_254_740_992n, '9007199254740992'],
  ['UINT64', 18_446_744_073_709_551_615n, '18446744073709551615'],
  ['UINT64', '18446744073709551614'],
  ['UINT64', '7', 7],
  ['INT8', -128],
  ['INT16', -32_768],
  ['INT32', -2_147_483_648],
  ['INT64', -9_007_199_254_740_991n, -9_007_199_254_740_991],
  ['INT64', -9_007_199_254_740_992n, '-9007199254740992'],
  ['INT64', -9_223_372_036_854_775_808n, '-9223372036854775808'],
  ['INT64', 9_223_372_036_854_775_807n, '9223372036854775807'],
  ['BOOL', true],
  ['BOOL', false],
  ['UUID', uuid, uuid.toLowerCase()],
  ['FLOAT', 21.1],
  ['FLOAT', -0.5],
  ['FLOAT', 3.4028234663852886e38],
  ['FLOAT', 7],
  ['FLOAT64', 1e300],
  ['FLOAT64', 5e-324],
  ['DATETIME', moment],
  ['DATETIME', BigInt(moment), moment],
  ['DATETIME', -1],
  ['STRING', ''],
  ['STRING', 'žluťoučký kůň 😀 "\\\u0000\u2028'],
  ['STRING', 'x'.repeat(65_536)],
  ['BINARY', bytes, 'AAF/gP8K'],
  ['BINARY', new Uint8Array(0), ''],
  ['BINARY', new Uint8Array(65_536), Buffer.alloc(65_536).toString('base64')],
  ['UINT8-ARRAY', [1, 2, 255]],
  ['UINT8-ARRAY', []],
  ['UINT64-ARRAY', [1n, 18_446_744_073_709_551_615n], [1, '18446744073709551615']],
  ['INT64-ARRAY', [-9_223_372_036_854_775_808n, -1n], ['-9223372036854775808', -1]],
  ['BOOL-ARRAY', [true, false]],
  ['UUID-ARRAY', [uuid], [uuid.toLowerCase()]],
  ['FLOAT-ARRAY', [1.5, -2.25, 0]],
  ['FLOAT64-ARRAY', [1e-300]],
  ['DATETIME-ARRAY', [BigInt(moment), 0], [moment, 0]],
  ['STRING-ARRAY', ['a', '', '😀']],
]

const ofBothProtocols: readonly (readonly [type: string, value: unknown])[] = [
  ['UINT8', 256],
  ['UINT8', -1],
  ['UINT8', 1.5],
  ['UINT8', '1'],
  ['UINT8', true],
  ['UINT8', null],
  ['UINT8', [1]],
  ['UINT8', {}],
  ['UINT8', { e: 5 }],
  ['UINT16', 65_536],
  ['UINT32', 4_294_967_296],
  ['UINT64', -1],
  ['UINT64', '18446744073709551616'],
  ['UINT64', '1.0'],
  ['UINT64', '0x10'],
  ['UINT64', ''],
  // As a double it has lost digits already.
  ['UINT64', 9_007_199_254_740_992],
  ['INT8', 128],
  ['INT16', -32_769],
  ['INT32', 2_147_483_648],
  ['INT64', '9223372036854775808'],
  ['INT64', '-9223372036854775809'],
  ['BOOL', 1],
  ['BOOL', 'true'],
  ['UUID', 'not-a-uuid'],
  ['UUID', `{${uuid}}`],
  ['FLOAT', '1'],
  ['FLOAT', 3.5e38],
  ['FLOAT64', '1'],
  ['DATETIME', 1.5],
  ['DATETIME', '2026-01-01T00:00:00Z'],
  ['DATETIME', 8_640_000_000_000_001],
  ['STRING', 5],
  ['STRING', 'x'.repeat(65_537)],
  ['STRING', '😀'.repeat(16_385)],
  ['BINARY', 'AAF/gP8'],
  ['BINARY', 'AA-_'],
  ['BINARY', [1, 2]],
  ['UINT8-ARRAY', 1],
  ['UINT8-ARRAY', [256]],
  ['UINT8-ARRAY', [1, null]],
  ['UINT8-ARRAY', [[1]]],
  ['STRING-ARRAY', ['x'.repeat(65_536)]],
  ['BOOL-ARRAY', [true, 1]],
]

const bad: Readonly<Record<Protocol, readonly (readonly [type: string, value: unknown])[]>> = {
  json: [...ofBothProtocols, ['STRING', '\ud800'], ['STRING-ARRAY', ['\udc00']], ['BINARY', 'AB==']],
  msgpack: [
    ...ofBothProtocols,
    ['UINT8', 256n],
    ['UINT64', -1n],
    ['INT64', 9_223_372_036_854_775_808n],
    ['FLOAT', Number.NaN],
    ['FLOAT', Number.POSITIVE_INFINITY],
    ['FLOAT64', Number.NEGATIVE_INFINITY],
    ['FLOAT64', Number.NaN],
    ['BINARY', new Uint8Array(65_537)],
    ['STRING', bytes],
    ['UINT8-ARRAY', bytes],
    ['DATETIME', new Date(moment)],
  ],
}

export function valueSuite(ground: LinkGround): void {
  const told = (value: unknown) => (ground.protocol === 'json' ? jsonForm(value) : value)
  const services = (type: string, more = {}) => [
    { serviceIdentifier: 'types', properties: [{ propId: 1, type, ...more }] },
  ]

  test.each(good.map((row) => [row[0], named(row[1]), row] as const))('%s %s', async (_, __, [type, value, given]) => {
    const shown = given ?? jsonForm(value)
    const { link, device, address } = await ground.sensor({ services: services(type) })
    const modifier = { ...noModifier, isArray: type.endsWith('-ARRAY') }
    expect(await ground.properties(device, 'types')).toEqual({ 1: { tag: 'value', modifier, propId: 1, type } })
    const events = await ground.eventsOf(device)
    await link.report(address, 1, 'types', [{ propId: 1, value: told(value) }])
    link.send(['U', address, 2, 0, [1, told(value)]])
    await link.take(['A', address, 2])
    const item = { tag: 'value', modifier, propId: 1, type, value: shown }
    const properties = await ground.properties(device, 'types')
    expect(properties).toEqual({ 1: { ...item, timestamp: expect.any(Number) } })
    // Where a HELLO tells the same value nothing differs, so nothing is heard.
    await link.hello(device, services(type, { value: told(value) }), { session: 'boot-1' })
    await link.hello(device, [], { session: 'boot-1' })
    await link.hello(device, services(type.toLowerCase(), { value: told(value) }), { session: 'boot-1' })
    expect(await events.caughtUp(ground.server)).toMatchObject([
      { updates: [item] },
      { updates: [item] },
      { updates: [{ tag: 'removed' }] },
      { updates: [item] },
    ])
  })

  test.each(bad[ground.protocol].map((row) => [row[0], named(row[1]), row[1]] as const))(
    'no %s: %s',
    async (type, _, value) => {
      const { link, device, address } = await ground.sensor({ services: services(type) })
      const events = await ground.eventsOf(device)
      const refusal = { code: 'BAD_VALUE', flakeAddress: address }
      const updates = [{ propId: 1, value }]
      link.send({ type: 'UPDATE', flakeAddress: address, seq: 1, serviceIdentifier: 'types', updates })
      expect(await link.take({ type: 'ERROR', seq: 1 })).toMatchObject(refusal)
      link.send(['U', address, 2, 0, [1, value]])
      expect(await link.take({ type: 'ERROR', seq: 2 })).toMatchObject(refusal)
      link.send({ type: 'HELLO', deviceIdentifier: ground.newName(), services: services(type, { value }) })
      expect(await link.take({ type: 'ERROR' })).toMatchObject({ code: expect.stringMatching(/^BAD_(VALUE|MESSAGE)$/) })
      expect(await ground.properties(device, 'types')).not.toHaveProperty('1.value')
      expect(await events.caughtUp(ground.server)).toEqual([])
    },
  )

  test('one bad value refuses the whole UPDATE', async () => {
    const types = ['UINT8', 'BOOL']
    const properties = types.map((type, propId) => ({ propId, type }))
    const { link, device, address } = await ground.sensor({ services: [{ serviceIdentifier: 'types', properties }] })
    const updates = [
      { propId: 0, value: 1 },
      { propId: 1, value: 'yes' },
    ]
    link.send({ type: 'UPDATE', flakeAddress: address, seq: 1, serviceIdentifier: 'types', updates })
    await link.take({ type: 'ERROR', code: 'BAD_VALUE', seq: 1 })
    await link.report(address, 2, 'types', [{ propId: 1, value: true }])
    const shown = await ground.properties(device, 'types')
    expect(shown[0]).not.toHaveProperty('value')
    expect(shown[1]).toHaveProperty('value', true)
  })
}

function jsonForm(value: unknown): unknown {
  if (typeof value === 'bigint') {
    return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString()
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  return Array.isArray(value) ? value.map(jsonForm) : value
}

function named(value: unknown): string {
  const text = JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}n` : part)) ?? String(value)
  return text.length > 40 ? `${text.slice(0, 40)}… (${text.length})` : text
}
