import { afterAll, describe, expect, test } from 'vitest'
import { type Fields, LinkClient } from '#test/blackbox/link-client'
import { pagesOf } from '#test/blackbox/pages'
import { noModifier } from '#test/blackbox/sensor'
import { StartedServer } from '#test/blackbox/started-server'

const alpha = '7f1d3a52-0b6c-4f0e-9a55-2b8f5f1c9d01'
const alphaProperties = [
  { propId: 0x2000, type: 'FLOAT', value: 20.5 },
  { propId: 0x2001, type: 'UINT8', value: 1, modifier: { isReadOnly: true } },
  { propId: 0x2002, type: 'UINT8', value: 9 },
  { propId: 0x2003, type: 'STRING' },
  { propId: 0x2004, type: 'UINT64', value: '18446744073709551615' },
  { propId: 0x2005, type: 'UINT8', value: 200 },
  { propId: 5, type: 'BOOL-ARRAY', value: [true] },
]
const beta = 'beta'
const schema = {
  name: 'Alpha',
  properties: {
    '0x2000': { name: 'temperature', type: 'float', unit: '°C' },
    '0x2001': { name: 'mode', type: 'uint8', enum: { 0: { name: 'off' }, 1: { name: 'on' } } },
    '0x2003': { name: 'note', type: 'string' },
    '0x2005': { name: 'other mode', type: 'uint8', enum: { 0: { name: 'off' } } },
  },
}
const devices = ['READ-1', 'READ-2', 'READ-3', 'READ-4', 'READ-5', 'READ-6', 'READ-7']
const time = expect.any(Number)

interface DeviceEntry {
  readonly deviceIdentifier: string
  readonly services: readonly { readonly serviceIdentifier: string; readonly properties: Fields }[]
}
interface ServiceEntry {
  readonly serviceIdentifier: string
  readonly devices: readonly { readonly deviceIdentifier: string; readonly properties: Fields }[]
}

const server = await StartedServer.here()
afterAll(() => server.finish())
for (const path of ['/devices', '/services', '/schemas', '/meta']) {
  expect((await server.get(path)).json).toEqual([])
}
const link = await LinkClient.open(server, 'json')
for (const device of devices) {
  const services = [{ serviceIdentifier: alpha, properties: alphaProperties }]
  const second = { serviceIdentifier: beta, properties: [{ propId: 0x2000, type: 'UINT8', value: 7 }] }
  await link.hello(device, device === 'READ-7' ? services : [...services, second])
}
await server.ask(`/schemas/${alpha}`, { method: 'PUT', body: schema })
const { flakeAddress } = await link.hello('BROKEN', [
  { serviceIdentifier: 'gamma', properties: [{ propId: 1, type: 'UINT8' }] },
])
await link.report(flakeAddress, 1, 'gamma', [{ propId: 1, error: 'no signal' }])
await link.hello('EMPTY', [])

/** Contract 3.1–3.4, on a state that does not change. */
describe('reads of devices and services', () => {
  const item = (propId: number, type: string, value?: unknown, modifier = {}) => ({
    tag: 'value',
    modifier: { ...noModifier, ...modifier },
    propId,
    type,
    ...(value !== undefined && { value, timestamp: time }),
  })
  const raw = {
    5: item(5, 'BOOL-ARRAY', [true], { isArray: true }),
    8192: item(0x2000, 'FLOAT', 20.5),
    8193: item(0x2001, 'UINT8', 1, { isReadOnly: true }),
    8194: item(0x2002, 'UINT8', 9),
    8195: item(0x2003, 'STRING'),
    8196: item(0x2004, 'UINT64', '18446744073709551615'),
    8197: item(0x2005, 'UINT8', 200),
  }
  const hexOf = (propId: string) => `0x${Number(propId).toString(16).padStart(4, '0')}`
  const hex = Object.fromEntries(Object.entries(raw).map(([propId, each]) => [hexOf(propId), each]))
  const named = {
    '0x0005.BOOL-ARRAY': [true],
    temperature: 20.5,
    mode: 'on',
    '0x2002.UINT8': 9,
    '0x2004.UINT64': '18446744073709551615',
    'other mode': 200,
  }
  const betaRaw = { 8192: item(0x2000, 'UINT8', 7) }
  const whole = {
    deviceIdentifier: 'READ-1',
    services: [
      { serviceIdentifier: alpha, properties: raw },
      { serviceIdentifier: beta, properties: betaRaw },
    ],
  }
  const withoutProperties = {
    deviceIdentifier: 'READ-1',
    services: [{ serviceIdentifier: alpha }, { serviceIdentifier: beta }],
  }
  const broken = {
    tag: 'error',
    modifier: { ...noModifier, isError: true },
    propId: 1,
    type: 'UINT8',
    error: 'no signal',
  }
  const others = (count: number) => devices.slice(0, count).map((deviceIdentifier) => ({ deviceIdentifier }))

  test.each([
    ['/devices/READ-1', whole],
    ['/devices/read-1', whole],
    ['/devices/READ-1?depth=2', whole],
    ['/devices/READ-1?depth=99', whole],
    ['/devices/READ-1?depth=1', withoutProperties],
    ['/devices/READ-1?depth=0', { deviceIdentifier: 'READ-1' }],
    ['/devices/READ-1?raw=true&hex=false&colour=green', whole],
    ['/devices/READ-1/services', whole.services],
    ['/devices/READ-1/services?depth=1', withoutProperties.services],
    [`/devices/READ-1/services/${alpha}`, whole.services[0]],
    [`/devices/READ-1/services/${alpha.toUpperCase()}`, whole.services[0]],
    [`/devices/READ-1/services/${alpha}?depth=1`, { serviceIdentifier: alpha }],
    [`/devices/READ-1/services/${alpha}/properties`, raw],
    [`/devices/READ-1/services/${alpha}/properties?hex=true`, hex],
    [`/devices/READ-1/services/${alpha}/properties?raw=false`, named],
    ['/devices/READ-1/services/beta/properties?raw=false', { '0x2000.UINT8': 7 }],
    ['/devices/READ-1/services/beta/properties?raw=false&hex=true', { '0x2000.UINT8': 7 }],
    ['/devices/BROKEN/services/gamma/properties', { 1: { ...broken, timestamp: time } }],
    ['/devices/BROKEN/services/gamma/properties?raw=false', {}],
    ['/devices/EMPTY', { deviceIdentifier: 'EMPTY', services: [] }],
    ['/services/beta?depth=0', { serviceIdentifier: beta }],
    ['/services/beta?depth=1', { serviceIdentifier: beta, devices: others(6) }],
    ['/services/beta/devices?depth=1', others(6)],
    [
      '/services/beta',
      { serviceIdentifier: beta, devices: others(6).map((entry) => ({ ...entry, properties: betaRaw })) },
    ],
    ['/services/beta/devices/READ-2', { deviceIdentifier: 'READ-2', properties: betaRaw }],
    ['/services/beta/devices/READ-2?depth=1', { deviceIdentifier: 'READ-2' }],
    ['/services/beta/devices/READ-2/properties', betaRaw],
    [`/services/${alpha}/devices/READ-2/properties?raw=false`, named],
    ['/devices', [{ deviceIdentifier: 'BROKEN' }, { deviceIdentifier: 'EMPTY' }, ...others(7)]],
    ['/services', [{ serviceIdentifier: alpha }, { serviceIdentifier: beta }, { serviceIdentifier: 'gamma' }]],
    ['/devices?depth=1&deviceIdentifier=read-1', [withoutProperties]],
    ['/devices?depth=2&deviceIdentifier=READ-1', [whole]],
    ['/devices?deviceIdentifier=READ-2&deviceIdentifier=READ-1&deviceIdentifier=NOBODY', others(2)],
    ['/devices?deviceIdentifier=NOBODY', []],
    [
      '/services?depth=1&deviceIdentifier=READ-1',
      [alpha, beta].map((serviceIdentifier) => ({ serviceIdentifier, devices: others(1) })),
    ],
    ['/services?deviceIdentifier=NOBODY', []],
  ])('answer GET %s', async (path, expected) => {
    const { status, json, headers } = await server.get(path)
    expect(status).toBe(200)
    expect(json).toEqual(expected)
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(headers.get('cache-control')).toBe('private, no-cache')
    expect(headers.get('date')).toMatch(/GMT$/)
    expect(headers.get('x-request-id')).toMatch(/./)
  })

  test.each(['depth=2', 'depth=2&hex=true', 'depth=2&raw=false', 'depth=1'])(
    'return the same properties below /devices and /services: %s',
    async (query) => {
      const byDevice = (await server.get(`/devices?${query}`)).json as DeviceEntry[]
      const byService = (await server.get(`/services?${query}`)).json as ServiceEntry[]
      const fromDevices = byDevice.flatMap(({ deviceIdentifier, services }) =>
        services.map(({ serviceIdentifier, properties }) => [serviceIdentifier, deviceIdentifier, properties] as const),
      )
      const fromServices = byService.flatMap(({ serviceIdentifier, devices }) =>
        devices.map(({ deviceIdentifier, properties }) => [serviceIdentifier, deviceIdentifier, properties] as const),
      )
      const sorted = (rows: readonly (readonly [string, string, unknown])[]) =>
        [...rows].sort((a, b) => `${a[0]}/${a[1]}`.localeCompare(`${b[0]}/${b[1]}`))
      expect(sorted(fromServices)).toEqual(sorted(fromDevices))
      expect(fromServices).toHaveLength(7 + 6 + 1)
      // Single reads equal the entries of the list.
      for (const entry of byDevice) {
        expect((await server.get(`/devices/${entry.deviceIdentifier}?${query}`)).json).toEqual(entry)
      }
      for (const entry of byService) {
        expect((await server.get(`/services/${entry.serviceIdentifier}?${query}`)).json).toEqual(entry)
      }
    },
  )

  test.each([
    '/devices/NOBODY',
    '/devices/NOBODY/services',
    '/devices/READ-1/services/nothing',
    '/devices/READ-1/services/nothing/properties',
    '/devices/READ-7/services/beta',
    '/devices/NOBODY/services/beta/properties',
    '/services/nothing',
    '/services/nothing?depth=0',
    '/services/nothing/devices',
    '/services/beta/devices/READ-7',
    '/services/beta/devices/NOBODY/properties',
    '/services/nothing/devices/READ-1',
    '/schemas/nothing',
    '/meta/NOBODY',
    // Texts that cannot be names.
    '/devices/A%2FB',
    '/devices/*',
    `/devices/${'A'.repeat(65)}`,
    '/devices/%ff',
    '/services/a%20b',
  ])('answer 404 %s', async (path) => {
    const { status, json } = await server.get(path)
    expect(status).toBe(404)
    expect(json).toEqual({ error: 'Not Found' })
  })

  const badQueries = [
    ['depth', ['-1', 'x', '1.5', '', ' 1', '1e1']],
    ['raw', ['1', 'yes', 'TRUE', '']],
    ['hex', ['0', 'no']],
    ['limit', ['0', '-1', '10001', 'x', '1.5', '']],
    ['cursor', ['%25', 'a b', 'x'.repeat(513)]],
    ['deviceIdentifier', ['A/B', '*', '', 'A'.repeat(65)]],
  ].flatMap(([name, values]) => (values as string[]).map((value) => [name as string, value] as const))

  test.each(badQueries)('answer 400 ?%s=%s', async (name, value) => {
    const paths = ['/devices', '/services', ...(['raw', 'hex', 'depth'].includes(name) ? ['/devices/READ-1'] : [])]
    for (const path of paths) {
      const { status, json } = await server.get(`${path}?${name}=${encodeURIComponent(value)}`)
      expect([path, status]).toEqual([path, 400])
      const detail = { path: expect.stringMatching(new RegExp(`^${name}`)), message: expect.stringMatching(/./) }
      const { details } = json as { details: unknown[] }
      expect(json).toEqual({ error: 'Validation Error', details: details.map(() => detail) })
      expect(details.length).toBeGreaterThan(0)
    }
  })

  test.each(['/devices', '/devices?depth=2&raw=false', '/services?depth=2', '/meta?depth=1', '/schemas?depth=1'])(
    'return the same in pages: %s',
    async (path) => {
      for (let index = 0; index < 5; index++) {
        await server.ask(`/schemas/page-${index}`, { method: 'PUT', body: { name: `${index}`, properties: {} } })
      }
      const all = (await server.get(path)).json as unknown[]
      for (const limit of [1, 2, 3, all.length - 1, all.length, all.length + 1, 10_000]) {
        const answers = await pagesOf((at) => server.get(at), `${path}${path.includes('?') ? '&' : '?'}limit=${limit}`)
        expect(answers.flatMap(({ json }) => json)).toEqual(all)
        expect(answers).toHaveLength(Math.ceil(all.length / limit))
        for (const { json } of answers) expect((json as unknown[]).length).toBeLessThanOrEqual(limit)
      }
    },
  )

  test.each(['/devices', '/services', '/schemas', '/meta'])(
    'of %s have the stream position in their headers',
    async (path) => {
      const { headers } = await server.get(path)
      const { json } = await server.get('/health/status')
      const { stream } = json as { stream: { epoch: string; offset: number } }
      expect(headers.get('stream-epoch')).toBe(stream.epoch)
      expect(Number(headers.get('stream-offset'))).toBe(stream.offset)
    },
  )

  test.each(['/devices', '/services?depth=2', '/schemas?depth=1'])('answer 304 without a change: %s', async (path) => {
    const first = await server.get(path)
    const etag = first.headers.get('etag') ?? ''
    expect(etag).toMatch(/^W\/"[^"]+"$/)
    for (const known of [etag, `"x", ${etag}`, '*']) {
      const again = await server.get(path, { 'if-none-match': known })
      expect([again.status, again.text]).toEqual([304, ''])
      for (const name of ['etag', 'stream-epoch', 'stream-offset']) {
        expect(again.headers.get(name)).toBe(first.headers.get(name))
      }
    }
    expect(await server.get(path, { 'if-none-match': 'W/"x"' })).toMatchObject({ status: 200, text: first.text })
    expect(
      await server.get(`${path}${path.includes('?') ? '&' : '?'}limit=1`, { 'if-none-match': etag }),
    ).toMatchObject({
      status: 200,
    })
    await link.hello('CHANGING', [
      { serviceIdentifier: beta, properties: [{ propId: 1, type: 'FLOAT64', value: Math.random() }] },
    ])
    // No event publishes a service without a value.
    const before = (await server.get('/devices?depth=2')).headers.get('etag') ?? ''
    await link.hello('CHANGING', [{ serviceIdentifier: beta, properties: [{ propId: 2, type: 'FLOAT64' }] }])
    expect((await server.get('/devices?depth=2', { 'if-none-match': before })).status).toBe(200)
    await server.ask('/schemas/changing', { method: 'PUT', body: { name: `${Math.random()}`, properties: {} } })
    const changed = await server.get(path, { 'if-none-match': etag })
    expect(changed.status).toBe(200)
    expect(changed.headers.get('etag')).not.toBe(etag)
    await server.ask('/devices/CHANGING', { method: 'DELETE' })
  })
})
