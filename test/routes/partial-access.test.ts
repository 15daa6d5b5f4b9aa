import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anonymous } from '#access/built-in-callers'
import { type Assembly, assemble } from '#app/assembly'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'
import { type Grant, scopeOf } from '#model/scope'
import { deviceRoutes } from '#routes/devices'
import { linkRoutes } from '#routes/link'
import { metaRoutes } from '#routes/meta'
import { schemaRoutes } from '#routes/schemas'
import { serviceRoutes } from '#routes/services'
import { type HttpFixture, openHttp, world } from '#test/http/http-fixture'
import { memoryServerOptions } from '#test/memory-server'

/** Routes for callers with partial access: A and B offer x and y, C offers z. */
const on = (devices: string[], services: string[], permissions: Grant['permissions']): Grant => ({
  permissions,
  devices,
  services,
})
const read: Grant['permissions'] = { service: ['read'], meta: ['read'], schemas: ['read'] }
const any = ['*']

const grantsOf: Record<string, Grant[]> = {
  whole: [on(any, any, { '*': ['*'] })],
  'A of all': [on(['A'], any, read)],
  'x of all': [on(any, ['x'], read)],
  'A of x, B of y': [on(['A'], ['x'], read), on(['B'], ['y'], read)],
  'B of y, A of x': [on(['B'], ['y'], read), on(['A'], ['x'], read)],
  'service of all': [on(any, any, { service: ['read'] })],
  'service of all, meta of A': [on(any, any, { service: ['read'] }), on(['A'], any, { meta: ['read'] })],
  'Z of all': [on(['Z'], any, read)],
  'maker of A and N': [on(['A', 'N'], any, { device: ['create'] })],
  'describer of new': [on(any, any, { schemas: ['create'] })],
  'describer of old': [on(any, any, { schemas: ['update'] })],
  'describer of new x, old y': [on(any, ['x'], { schemas: ['create'] }), on(any, ['y'], { schemas: ['update'] })],
}

let assembly: Assembly
let http: HttpFixture

beforeAll(async () => {
  assembly = assemble(memoryServerOptions(world))
  await assembly.open()
  const { context } = assembly
  http = await openHttp({
    bindings: [
      ...deviceRoutes(context),
      ...serviceRoutes(context),
      ...schemaRoutes(context),
      ...metaRoutes(context),
      ...linkRoutes(context),
    ],
    authenticate(request): Caller {
      const who = request.header('x-who')
      if (who === 'gone') return { ...anonymous, isCurrent: () => false }
      const grants = grantsOf[who]
      if (!grants) throw new Problem('unauthorized')
      return { ...anonymous, access: who, scope: scopeOf(grants) }
    },
  })
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
})
afterAll(async () => {
  await http.server.close()
  await assembly.close()
})

const schema = { name: 'Climate', description: 'A room', properties: {} }

async function call(who: string, method: string, path: string, body?: unknown) {
  const response = await fetch(http.base + path, {
    method,
    headers: { 'X-Who': who, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text), headers: response.headers }
}

const get = async (who: string, path: string) => {
  const { status, body } = await call(who, 'GET', path)
  return status === 200 ? body : status
}

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
  test.each(rows)('%s', async (who, devices, services, metas, schemas) => {
    expect(await get(who, '/devices?depth=1')).toEqual(devices)
    expect(await get(who, '/services?depth=1')).toEqual(services)
    expect((await get(who, '/meta')).map((record: { deviceIdentifier: string }) => record.deviceIdentifier)).toEqual(
      metas,
    )
    expect((await get(who, '/schemas')).map((entry: { serviceIdentifier: string }) => entry.serviceIdentifier)).toEqual(
      schemas,
    )
  })

  test('pages do not show that there is more outside the scope', async () => {
    const { body, headers } = await call('A of x, B of y', 'GET', '/devices?limit=2')
    expect([body.length, headers.get('link')]).toEqual([2, null])
    const first = await call('A of x, B of y', 'GET', '/devices?limit=1')
    expect(first.headers.get('link')).toContain('rel="next"')
  })
})

describe('a filter shows nothing that the caller may not read', () => {
  const value = (service: string) => ({ var: `services.${service}.0x1` })
  const isSeven = (service: string) => ({ '==': [value(service), 7] })
  const there = { '!!': [{ var: 'status' }] }
  const inHall = { '==': [{ var: 'meta.place' }, 'Hall'] }
  const rows: [who: string, filter: object, found: string[]][] = [
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
  const namesOf = (body: { deviceIdentifier: string }[]) => body.map(({ deviceIdentifier }) => deviceIdentifier)

  beforeAll(async () => {
    for (const device of ['A', 'B']) await call('whole', 'PATCH', `/meta/${device}`, { place: 'Hall' })
  })

  test.each(rows)('for %s, %j finds %j', async (who, filter, found) => {
    const query = `filter=${encodeURIComponent(JSON.stringify(filter))}`
    expect(namesOf(await get(who, `/devices?${query}`))).toEqual(found)
    // Neither a page nor its link shows more.
    const seen: string[] = []
    for (let next: string | undefined = `/devices?limit=1&${query}`; next !== undefined; ) {
      const { body, headers } = await call(who, 'GET', next)
      seen.push(...namesOf(body))
      next = /^<\/api\/v1([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
      expect(next === undefined).toBe(seen.length >= found.length)
    }
    expect(seen).toEqual(found)
  })
})

describe('a resource outside the scope is not found', () => {
  test.each([
    ['A of all', '/devices/A', 200],
    ['A of all', '/devices/B', 404],
    ['A of all', '/meta/B', 404],
    ['A of all', '/devices/B/services', 404],
    ['A of all', '/services/x/devices/B', 404],
    ['A of all', '/services/x/devices/A/properties', 200],
    ['A of all', '/services/z', 404],
    ['A of all', '/services/z/devices', 404],
    ['A of all', '/schemas/x', 200],
    ['x of all', '/devices/C', 200],
    ['x of all', '/devices/A/services/x', 200],
    ['x of all', '/devices/A/services/y', 404],
    ['x of all', '/devices/A/services/y/properties', 404],
    ['x of all', '/services/y', 404],
    ['x of all', '/services/z?depth=0', 404],
    ['x of all', '/schemas/y', 404],
    ['A of x, B of y', '/devices/A/services/x', 200],
    ['A of x, B of y', '/devices/A/services/y', 404],
    ['A of x, B of y', '/services/y/devices/B', 200],
    ['A of x, B of y', '/services/y/devices/A', 404],
    ['Z of all', '/services/x', 404],
    ['Z of all', '/devices/Z', 404],
  ])('%s at %s gets %i', async (who, path, status) => {
    const answer = await call(who, 'GET', path)
    expect(answer.status).toBe(status)
    if (status === 404) expect(answer.body).toEqual({ error: 'Not Found' })
  })

  test('a device shows only the readable services', async () => {
    const { services } = await get('x of all', '/devices/A?depth=1')
    expect(services).toEqual([{ serviceIdentifier: 'x' }])
    expect(await get('x of all', '/devices/C/services')).toEqual([])
  })
})

describe('the creation of a device', () => {
  const make = (deviceIdentifier: string) => call('maker of A and N', 'POST', '/devices', { deviceIdentifier })

  test.each(['C', 'Z'])(
    'by %s, outside the scope, is 404 whether it exists or not, and creates nothing',
    async (device) => {
      const { status, body } = await make(device)
      expect([status, body]).toEqual([404, { error: 'Not Found' }])
      expect(await get('whole', '/devices/Z')).toBe(404)
    },
  )

  test('inside the scope creates it once', async () => {
    expect((await make('n')).status).toBe(201)
    expect((await make('N')).status).toBe(409)
    expect((await call('whole', 'DELETE', '/devices/N')).status).toBe(204)
  })
})

describe('ETags', () => {
  const etag = async (who: string, path: string) => (await call(who, 'GET', path)).headers.get('etag')

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
