import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Grant } from '#model/scope'
import { nextPage, pagesOf } from '#test/blackbox/pages'
import { grantOn, ServerWithUsers } from '#test/routes/server-with-users'

/** Routes for callers with partial access: A and B offer x and y, C offers z. */
const read: Grant['permissions'] = { service: ['read'], meta: ['read'], schemas: ['read'] }
const any = ['*']

const grantsOf: Record<string, Grant[]> = {
  whole: [grantOn(any, any, { '*': ['*'] })],
  'A of all': [grantOn(['A'], any, read)],
  'x of all': [grantOn(any, ['x'], read)],
  'A of x, B of y': [grantOn(['A'], ['x'], read), grantOn(['B'], ['y'], read)],
  'B of y, A of x': [grantOn(['B'], ['y'], read), grantOn(['A'], ['x'], read)],
  'service of all': [grantOn(any, any, { service: ['read'] })],
  'service of all, meta of A': [grantOn(any, any, { service: ['read'] }), grantOn(['A'], any, { meta: ['read'] })],
  'Z of all': [grantOn(['Z'], any, read)],
  'maker of A and N': [grantOn(['A', 'N'], any, { device: ['create'] })],
  'describer of new': [grantOn(any, any, { schemas: ['create'] })],
  'describer of old': [grantOn(any, any, { schemas: ['update'] })],
  'describer of new x, old y': [
    grantOn(any, ['x'], { schemas: ['create'] }),
    grantOn(any, ['y'], { schemas: ['update'] }),
  ],
}

const schema = { name: 'Climate', description: 'A room', properties: {} }

const http = await ServerWithUsers.open()
afterAll(() => http.close())
const call = (user: string, method: string, path: string, body?: unknown) => http.call(user, method, path, body)

for (const [user, grants] of Object.entries(grantsOf)) http.give(user, grants)
http.endAccess('gone')
for (const [device, services] of Object.entries({ A: ['x', 'y'], B: ['x', 'y'], C: ['z'] })) {
  await call('whole', 'POST', '/link', {
    deviceIdentifier: device,
    services: services.map((serviceIdentifier) => ({
      serviceIdentifier,
      properties: [{ propId: 1, type: 'UINT8' }],
    })),
    updates: services.map((serviceIdentifier) => ({ serviceIdentifier, propId: 1, value: 7 })),
  })
}
for (const service of ['x', 'y']) await call('whole', 'PUT', `/schemas/${service}`, schema)

const get = async (user: string, path: string) => {
  const { status, json } = await call(user, 'GET', path)
  return (status === 200 ? json : status) as never
}

const namesOf = (rows: { deviceIdentifier: string }[]) => rows.map(({ deviceIdentifier }) => deviceIdentifier)

describe('lists leave out resources outside the scope', () => {
  const device = (deviceIdentifier: string, ...services: string[]) => ({
    deviceIdentifier,
    services: services.map((serviceIdentifier) => ({ serviceIdentifier })),
  })
  const service = (serviceIdentifier: string, ...devices: string[]) => ({
    serviceIdentifier,
    devices: devices.map((deviceIdentifier) => ({ deviceIdentifier })),
  })
  const rows: [string, unknown[], unknown[], string[], string[]][] = [
    [
      'whole',
      [device('A', 'x', 'y'), device('B', 'x', 'y'), device('C', 'z')],
      [service('x', 'A', 'B'), service('y', 'A', 'B'), service('z', 'C')],
      ['A', 'B', 'C'],
      ['x', 'y'],
    ],
    ['A of all', [device('A', 'x', 'y')], [service('x', 'A'), service('y', 'A')], ['A'], ['x', 'y']],
    // A list of services limits services but not devices.
    ['x of all', [device('A', 'x'), device('B', 'x'), device('C')], [service('x', 'A', 'B')], ['A', 'B', 'C'], ['x']],
    [
      'A of x, B of y',
      [device('A', 'x'), device('B', 'y')],
      [service('x', 'A'), service('y', 'B')],
      ['A', 'B'],
      ['x', 'y'],
    ],
    ['Z of all', [], [], [], ['x', 'y']],
  ]
  test.each(rows)('%s', async (user, devices, services, metas, schemas) => {
    expect(await get(user, '/devices?depth=1')).toEqual(devices)
    expect(await get(user, '/services?depth=1')).toEqual(services)
    expect(namesOf(await get(user, '/meta'))).toEqual(metas)
    expect(await get(user, '/schemas')).toEqual(schemas.map((serviceIdentifier) => ({ serviceIdentifier })))
  })

  test('pages do not show that there is more outside the scope', async () => {
    const whole = await call('A of x, B of y', 'GET', '/devices?limit=2')
    expect([whole.json, nextPage(whole)]).toEqual([[expect.anything(), expect.anything()], undefined])
    expect(nextPage(await call('A of x, B of y', 'GET', '/devices?limit=1'))).toBeDefined()
  })
})

describe('a filter shows nothing that the caller may not read', () => {
  const value = (service: string) => ({ var: `services.${service}.0x1` })
  const isSeven = (service: string) => ({ '==': [value(service), 7] })
  const there = { '!!': [{ var: 'status' }] }
  const inHall = { '==': [{ var: 'meta.place' }, 'Hall'] }
  const rows: [user: string, filter: object, found: string[]][] = [
    ['whole', isSeven('x'), ['A', 'B']],
    ['whole', there, ['A', 'B', 'C']],
    ['whole', inHall, ['A', 'B']],
    ['A of all', there, ['A']],
    ['A of all', { '!': { var: ['services.x.0x1', 0] } }, []],
    ['x of all', isSeven('x'), ['A', 'B']],
    ['x of all', isSeven('y'), []],
    ['x of all', { '!': isSeven('y') }, []],
    ['x of all', { missing: ['services.y.0x1'] }, ['A', 'B', 'C']],
    ['x of all', { '>': [{ var: ['services.y.0x1', 9] }, 8] }, ['A', 'B', 'C']],
    ['A of x, B of y', isSeven('x'), ['A']],
    ['A of x, B of y', isSeven('y'), ['B']],
    ['A of x, B of y', { missing: ['services.x.0x1'] }, ['B']],
    ['service of all', there, []],
    ['service of all', { '!': there }, ['A', 'B', 'C']],
    ['service of all', { '===': [{ var: 'status' }, null] }, ['A', 'B', 'C']],
    ['service of all', { '!': { var: 'meta' } }, ['A', 'B', 'C']],
    ['service of all', isSeven('y'), ['A', 'B']],
    ['service of all, meta of A', inHall, ['A']],
    ['service of all, meta of A', there, ['A']],
    ['Z of all', { '==': [{ var: 'deviceIdentifier' }, 'A'] }, []],
  ]

  beforeAll(async () => {
    for (const device of ['A', 'B']) await call('whole', 'PATCH', `/meta/${device}`, { place: 'Hall' })
  })

  test.each(rows)('for %s, %j finds %j', async (user, filter, found) => {
    const query = `filter=${encodeURIComponent(JSON.stringify(filter))}`
    expect(namesOf(await get(user, `/devices?${query}`))).toEqual(found)
    // Neither a page nor its link shows more.
    const pages = await pagesOf((path) => call(user, 'GET', path), `/devices?limit=1&${query}`)
    expect(pages.map(({ json }) => namesOf(json as []))).toEqual(
      found.length === 0 ? [[]] : found.map((name) => [name]),
    )
  })
})

describe('a resource outside the scope is not found', () => {
  test.each([
    ['A of x, B of y', '/devices/A/services/x', 200],
    ['A of x, B of y', '/devices/A/services/y', 404],
    ['A of x, B of y', '/services/y/devices/B', 200],
    ['A of x, B of y', '/services/y/devices/A', 404],
    ['x of all', '/devices/C', 200],
    ['x of all', '/services/z?depth=0', 404],
    ['x of all', '/schemas/y', 404],
  ])('%s at %s gets %i', async (user, path, status) => {
    const answer = await call(user, 'GET', path)
    expect(answer.status).toBe(status)
    if (status === 404) expect(answer.json).toEqual({ error: 'Not Found' })
  })

  test('a device shows only the readable services', async () => {
    expect(await get('x of all', '/devices/A?depth=1')).toMatchObject({ services: [{ serviceIdentifier: 'x' }] })
    expect(await get('x of all', '/devices/C/services')).toEqual([])
  })
})

describe('the creation of a device', () => {
  const make = (deviceIdentifier: string) => call('maker of A and N', 'POST', '/devices', { deviceIdentifier })

  test.each(['C', 'Z'])(
    'by %s, outside the scope, is 404 whether it exists or not, and creates nothing',
    async (device) => {
      const { status, json } = await make(device)
      expect([status, json]).toEqual([404, { error: 'Not Found' }])
      expect(await get('whole', '/devices/Z')).toBe(404)
    },
  )
})

describe('ETags', () => {
  const etag = async (user: string, path: string) => (await call(user, 'GET', path)).headers.get('etag')

  test.each(['/devices', '/services', '/schemas'])(
    'of %s cover only the readable part, in any spelling of the grants',
    async (path) => {
      const [one, other, more] = [
        await etag('A of x, B of y', path),
        await etag('B of y, A of x', path),
        await etag('whole', path),
      ]
      expect(one).toMatch(/^W\//)
      expect(other).toBe(one)
      expect(more).not.toBe(one)
    },
  )
})

test.each([
  '/devices',
  '/devices?limit=1',
  '/devices?filter=true',
  '/services',
  '/services?depth=1',
  '/services?limit=1',
  '/services/x',
  '/meta',
  '/schemas',
])('%s is not begun if access ended meanwhile: the repeated request gets the error', async (path) => {
  const { status, headers } = await call('gone', 'GET', path)
  expect([status, headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)])
})
