import { request } from 'undici'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Problem } from '#model/problem'
import { scopeOf } from '#model/scope'
import { admin, openHttp, route } from '#test/http/http-fixture'

const device = z.object({ deviceIdentifier: z.string().regex(/^[A-Z0-9]+$/) })
const stranger = { ...admin, scope: scopeOf([]) }

const http = await openHttp({
  bindings: [
    route('GET', '/plain', () => ({ status: 200, json: { ok: true } })),
    route('GET', '/none', () => ({ status: 204 })),
    route('GET', '/same', () => ({ status: 304, headers: { ETag: 'W/"1"' } })),
    route('GET', '/empty', () => ({ status: 200 })),
    route('GET', '/own', () => ({
      status: 200,
      headers: { 'content-type': 'text/plain', 'CACHE-CONTROL': 'no-store', Location: '/x' },
      json: 'x',
    })),
    route('GET', '/split', () => ({ status: 200, headers: { Location: 'a\r\nSet-Cookie: b' }, json: 1 })),
    route('GET', '/unwritable', () => ({ status: 200, json: { big: 1n } })),
    route('GET', '/function', () => ({ status: 200, json: () => 1 })),
    route('GET', '/throws', () => {
      throw new Error('secret of throws')
    }),
    route('GET', '/rejects', async () => {
      throw new TypeError('secret of rejects')
    }),
    route('GET', '/null', () => {
      throw null
    }),
    route('GET', '/devices/:deviceIdentifier', (call) => ({ status: 200, json: call.parameters }), {
      parameters: device,
    }),
    route('GET', '/query', (call) => ({ status: 200, json: call.query }), {
      query: z.object({ depth: z.string().regex(/^\d+$/).optional(), id: z.array(z.string()).optional() }),
    }),
    route('GET', '/guarded', (call) => ({ status: 200, json: call.caller.name }), {
      access: { resource: 'alarms', action: 'read', within: 'list' },
    }),
    route('GET', '/session', (call) => ({ status: 200, json: call.caller.name }), { access: 'session' }),
    route('GET', '/seen', (call) => ({
      status: 200,
      json: {
        address: call.remoteAddress,
        target: call.target.path,
        query: call.target.query,
        x: call.header('x-a'),
      },
    })),
  ],
  rootBindings: [route('GET', '/', () => ({ status: 200, json: 'root' }))],
  authenticate(request) {
    request.addReplyHeader('DPoP-Nonce', 'next')
    const token = request.header('authorization')
    if (token === '') throw new Problem('unauthorized', 'missing token')
    return token === 'stranger' ? stranger : admin
  },
})
afterAll(() => http.server.close())

const get = (path: string, init: RequestInit = {}) => fetch(http.base + path, init)

describe('answers', () => {
  test('a JSON answer has its headers', async () => {
    const response = await get('/plain')
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'private, no-cache',
      'x-content-type-options': 'nosniff',
      'content-length': '11',
      vary: 'Origin',
    })
    expect(Date.parse(response.headers.get('date') ?? '')).not.toBeNaN()
    expect(await response.json()).toEqual({ ok: true })
  })

  test.each([
    ['/none', 204, null],
    ['/same', 304, null],
    ['/empty', 200, '0'],
  ])('%s has no body', async (path, status, length) => {
    const response = await get(path)
    expect([response.status, response.headers.get('content-length')]).toEqual([status, length])
    expect(response.headers.get('content-type')).toBeNull()
    expect(response.headers.get('date')).not.toBeNull()
    expect(await response.text()).toBe('')
  })

  test('headers of the reply override the defaults', async () => {
    const { headers } = await get('/own')
    const own = ['content-type', 'cache-control', 'location'].map((name) => headers.get(name))
    expect(own).toEqual(['text/plain', 'no-store', '/x'])
  })

  test('a route gets path, query, headers and address', async () => {
    const response = await get('/seen?a=%20b', { headers: { 'X-A': 'y' } })
    expect(await response.json()).toEqual({ address: '127.0.0.1', target: '/api/v1/seen', query: 'a=%20b', x: 'y' })
  })

  test('a route at the root of the server is reached', async () => {
    expect(await (await fetch(`http://127.0.0.1:${http.port}/`)).json()).toBe('root')
  })
})

test.each(['/throws', '/rejects', '/null', '/unwritable', '/function', '/split'])(
  'an error at %s is a 500 without details',
  async (path) => {
    const before = http.log.lines.length
    const response = await get(path, { headers: { 'X-Request-Id': `id-of${path.replace('/', '-')}` } })
    expect(response.status).toBe(500)
    const body = await response.text()
    expect(JSON.parse(body)).toEqual({ error: 'Internal Server Error', message: expect.any(String), statusCode: 500 })
    expect(body).not.toMatch(/secret|at /)
    expect(response.headers.get('set-cookie')).toBeNull()
    const logged = http.log.lines.slice(before).filter((line) => line.level === 'error')
    expect(logged.map((line) => line.fields.requestId)).toEqual([
      `id-of${path.replace('/', '-')}`,
      `id-of${path.replace('/', '-')}`,
    ])
  },
)

describe('access', () => {
  test('an unknown path is 404 before authentication', async () => {
    const response = await get('/unknown')
    expect([response.status, await response.json()]).toEqual([404, { error: 'Not Found' }])
    expect(response.headers.get('dpop-nonce')).toBeNull()
  })

  test('405 lists the allowed methods', async () => {
    const response = await get('/guarded', { method: 'DELETE' })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  })

  test('OPTIONS lists the allowed methods too, without authentication', async () => {
    const response = await get('/guarded', { method: 'OPTIONS' })
    expect([response.status, response.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS'])
    expect((await get('/unknown', { method: 'OPTIONS' })).status).toBe(404)
  })

  test('401 has a challenge and the headers of the authentication', async () => {
    // fetch would send its own Sec-Fetch-Mode.
    const response = await request(`${http.base}/session`)
    expect([response.statusCode, await response.body.json()]).toEqual([401, { error: 'missing token' }])
    expect(response.headers['www-authenticate']).toContain('Basic realm')
    expect(response.headers['dpop-nonce']).toBe('next')
  })

  test('a request from a web page gets no Basic challenge', async () => {
    const response = await get('/session', { headers: { 'Sec-Fetch-Mode': 'cors' } })
    expect(response.headers.get('www-authenticate')).toMatch(/^(?!.*Basic).*Bearer/)
  })

  test('403 has no body; a route for any session needs no permission', async () => {
    const response = await get('/guarded', { headers: { Authorization: 'stranger' } })
    expect([response.status, await response.text()]).toEqual([403, ''])
    expect((await get('/session', { headers: { Authorization: 'stranger' } })).status).toBe(200)
    expect((await get('/guarded', { headers: { Authorization: 'me' } })).status).toBe(200)
  })
})

describe('parameters and query', () => {
  test.each([
    ['/devices/A1', 200],
    ['/devices/%41', 200],
    ['/devices/a', 404],
    ['/devices/A%2FB', 404],
  ])('%s is %i', async (path, status) => {
    expect((await get(path)).status).toBe(status)
  })

  test('an unknown query parameter is ignored, and a repeated parameter is a list', async () => {
    const response = await get('/query?depth=2&id=a&id=b&other=1&__proto__=x')
    expect(await response.json()).toEqual({ depth: '2', id: ['a', 'b'] })
  })

  test('an invalid field is named', async () => {
    const response = await get('/query?depth=-1')
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({
      error: 'Validation Error',
      details: [{ path: 'depth', message: expect.any(String) }],
    })
  })
})

test.each(['/plain', '/throws', '/unknown', '/own'])('HEAD %s is GET without the body', async (path) => {
  const [got, head] = [await get(path), await get(path, { method: 'HEAD' })]
  expect(head.status).toBe(got.status)
  expect(head.headers.get('content-length')).toBe(got.headers.get('content-length'))
  expect(head.headers.get('content-type')).toBe(got.headers.get('content-type'))
  expect(await head.text()).toBe('')
})

describe('request ids', () => {
  test.each(['a', 'A-z_0.9', 'x'.repeat(64)])('%s is echoed', async (id) => {
    expect((await get('/plain', { headers: { 'X-Request-Id': id } })).headers.get('x-request-id')).toBe(id)
  })

  test.each(['x'.repeat(65), 'a b', 'a/b', 'ä'])('%s is replaced', async (id) => {
    const response = await get('/unknown', { headers: { 'X-Request-Id': id } })
    expect(response.headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{8,64}$/)
  })

  test('generated ids are unique', async () => {
    const ids = await Promise.all([1, 2, 3].map(async () => (await get('/plain')).headers.get('x-request-id')))
    expect(new Set(ids).size).toBe(3)
  })
})
