import { afterEach, describe, expect, test } from 'vitest'
import { Cors, type OriginVerdict } from '#http/origins'
import { type HttpFixture, openHttp, route } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'

const publicUrls = ['https://devices.example/prefix']
const corsOrigins = ['https://app.example', 'http://localhost:5173']

describe('origins', () => {
  const cors = new Cors({ corsOrigins, publicUrls, iamOff: false })
  test.each([
    ['', 'a', 'none'],
    ['https://app.example', 'a', 'allowed'],
    ['HTTPS://APP.example', 'a', 'allowed'],
    ['http://localhost:5173', 'a', 'allowed'],
    ['https://devices.example', 'a', 'allowed'],
    ['http://a:8080', 'a:8080', 'allowed'],
    ['http://a', 'a:80', 'allowed'],
    ['http://[::1]:8080', '[::1]:8080', 'allowed'],
    ['https://a:8080', 'a:8080', 'foreign'],
    ['http://a', 'a:8080', 'foreign'],
    ['http://app.example', 'a', 'foreign'],
    ['https://app.example:444', 'a', 'foreign'],
    ['https://app.example.evil', 'a', 'foreign'],
    ['https://evil.app.example', 'a', 'foreign'],
    ['https://app.example/', 'a', 'foreign'],
    ['https://app.example, https://app.example', 'a', 'foreign'],
    ['https://x@app.example', 'a', 'foreign'],
    ['null', 'a', 'foreign'],
    ['null', 'null', 'foreign'],
    ['file://', 'a', 'foreign'],
    ['x', 'a', 'foreign'],
    ['http://', '', 'foreign'],
    ['http://a', 'a@b', 'foreign'],
  ])('origin %s at %s: %s', (origin, host, verdict) => {
    expect(cors.verdictOf(origin, `http://${host}`)).toBe(verdict)
    if (verdict !== 'none') expect(cors.isRefused(verdict as OriginVerdict, 'upgrade')).toBe(verdict === 'foreign')
    expect(cors.isRefused(verdict as OriginVerdict, 'request')).toBe(false)
  })

  test('the origin null is foreign, even if it is configured', () => {
    const careless = new Cors({ corsOrigins: ['null', '', '*', 'file://'], publicUrls: [], iamOff: false })
    for (const origin of ['null', '*', 'http://evil.example'])
      expect(careless.verdictOf(origin, 'http://a')).toBe('foreign')
  })

  const open = new Cors({ corsOrigins, publicUrls, iamOff: true })
  test.each([
    ['http://localhost:8080', 'localhost:8080', 'allowed'],
    ['http://127.0.0.1:8080', '127.0.0.1:8080', 'allowed'],
    ['http://192.168.1.5', '192.168.1.5', 'allowed'],
    ['http://[::1]:8080', '[::1]:8080', 'allowed'],
    ['https://app.example', 'evil.example', 'allowed'],
    ['http://evil.example:8080', 'evil.example:8080', 'foreign'],
    ['http://localhost.evil.example', 'localhost.evil.example', 'foreign'],
    ['http://127.0.0.1.evil.example', '127.0.0.1.evil.example', 'foreign'],
    ['http://localhost:8080', 'localhost:8081', 'foreign'],
    ['null', 'localhost', 'foreign'],
    ['', 'evil.example', 'none'],
  ])('with IAM off, origin %s at %s: %s', (origin, host, verdict) => {
    expect(open.verdictOf(origin, `http://${host}`)).toBe(verdict)
    expect(open.isRefused(verdict as 'foreign', 'request')).toBe(verdict === 'foreign')
  })
})

describe('responses', () => {
  let http: HttpFixture
  afterEach(() => http.server.close())
  const open = (iamOff: boolean) =>
    openHttp({
      bindings: [
        route('GET', '/a', () => ({ status: 200, json: 1 })),
        route('PUT', '/a', () => ({ status: 200, json: 1 })),
        route('POST', '/broken', () => {
          throw new Error('broken')
        }),
        route('GET', '/stream', () => ({
          status: 200,
          chunks: (async function* () {
            yield 'x'
          })(),
        })),
      ],
      cors: { corsOrigins, publicUrls: [], iamOff },
    })
  const ask = (path: string, method: string, origin: string, headers: Record<string, string> = {}) =>
    fetch(http.base + path, { method, headers: { Origin: origin, ...headers } })

  test.each([
    ['GET', '/a', 200],
    ['GET', '/stream', 200],
    ['GET', '/unknown', 404],
    ['PATCH', '/a', 405],
    ['POST', '/broken', 500],
  ])('%s %s is readable by allowed pages', async (method, path, status) => {
    http = await open(false)
    const response = await ask(path, method, 'https://app.example')
    expect(response.status).toBe(status)
    expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example')
    expect(response.headers.get('access-control-expose-headers')).toContain('DPoP-Nonce, Date, X-Request-Id')
    expect(response.headers.get('access-control-allow-credentials')).toBeNull()
    expect(response.headers.get('vary')).toBe('Origin')
    const foreign = await ask(path, method, 'https://evil.example')
    expect(foreign.status).toBe(status)
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull()
    expect(foreign.headers.get('vary')).toBe('Origin')
  })

  test('a preflight is answered with methods, headers and how long they are valid', async () => {
    http = await open(false)
    const response = await ask('/a', 'OPTIONS', 'https://app.example', { 'Access-Control-Request-Method': 'PUT' })
    expect(response.status).toBe(204)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-methods': 'GET, HEAD, PUT, OPTIONS',
      'access-control-allow-headers': 'Authorization, DPoP, Content-Type, If-None-Match, Idempotency-Key, X-API-Key',
      'access-control-max-age': expect.stringMatching(/^\d+$/),
    })
    const foreign = await ask('/a', 'OPTIONS', 'https://evil.example', { 'Access-Control-Request-Method': 'PUT' })
    expect(foreign.status).toBe(204)
    expect([...foreign.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'POST'])(
    'with IAM off, %s from a foreign page is refused',
    async (method) => {
      http = await open(true)
      for (const path of ['/a', '/unknown']) {
        const response = await ask(path, method, 'https://evil.example')
        expect([response.status, await response.text()]).toEqual([403, ''])
      }
      expect((await ask('/a', 'GET', `http://127.0.0.1:${http.port}`)).status).toBe(200)
      expect((await ask('/a', 'GET', 'https://app.example')).status).toBe(200)
    },
  )

  test.each([false, true])(
    'a refused origin is logged once, with the settings that admit it (IAM off: %s)',
    async (iamOff) => {
      http = await open(iamOff)
      for (const origin of ['https://evil.example', 'https://evil.example', 'https://app.example', 'null'])
        await ask('/a', 'GET', origin)
      const lines = http.log.lines.filter(({ message }) => message.startsWith('refused a page'))
      expect(lines.map(({ fields }) => fields.origin)).toEqual(['https://evil.example', 'null'])
      expect(lines[0]?.message).toMatch(/CORS_ORIGINS.*PUBLIC_URL/)
    },
  )

  const asked = async (head: string) => {
    const client = new RawClient(http.port).send(`${head}\r\nConnection: close\r\n\r\n`)
    const text = await client.closed()
    return [client.statuses, text.slice(text.indexOf('\r\n\r\n') + 4)]
  }
  const misdirected =
    '{"error":"IAM is off: the server only answers requests whose Host is an IP address, a local name, or a host of PUBLIC_URL or CORS_ORIGINS"}'

  test('with IAM off, a foreign name that resolves to the server is a foreign page', async () => {
    http = await open(true)
    const host = `evil.example:${http.port}`
    const bearing = await asked(
      `PUT /api/v1/a HTTP/1.1\r\nHost: ${host}\r\nOrigin: http://${host}\r\nContent-Length: 0`,
    )
    expect(bearing).toEqual([[403], ''])
  })

  test.each([
    'evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    '127.0.0.1.evil.example:8080',
    'localhost.',
    'local.evil.example',
    'evil.example.local.',
    'a@127.0.0.1',
    '127.0.0.1, 127.0.0.1',
    `${'1'.repeat(300)}`,
  ])('with IAM off, a Host of %s is refused', async (host) => {
    http = await open(true)
    for (const path of ['/api/v1/a', '/api/v1/unknown', '/']) {
      expect(await asked(`GET ${path} HTTP/1.1\r\nHost: ${host}`)).toEqual([[421], misdirected])
    }
    // A page can send the headers of an untrusted proxy too.
    const claimed = `GET /api/v1/a HTTP/1.1\r\nHost: ${host}\r\nX-Forwarded-Host: localhost`
    expect(await asked(claimed)).toEqual([[421], misdirected])
    await http.server.close()
    http = await open(false)
    expect(await asked(`GET /api/v1/a HTTP/1.1\r\nHost: ${host}`)).toEqual([[200], '1'])
  })

  test.each([
    'localhost',
    'LOCALHOST:8080',
    '127.0.0.1:8080',
    '192.168.1.5',
    '[::1]:8080',
    '[2001:db8::1]',
    'app.example',
    'App.Example:444',
    'inside',
    'backend:8080',
    'Pi.local:8080',
    'devices.internal',
    'devices.home.arpa',
  ])('with IAM off, a Host of %s is answered', async (host) => {
    http = await open(true)
    expect(await asked(`GET /api/v1/a HTTP/1.1\r\nHost: ${host}`)).toEqual([[200], '1'])
  })

  // W3C Fetch Metadata §2.
  test.each([
    ['an image of a foreign page', 'cross-site', 'no-cors', 'image', 403],
    ['a fetch of a page on another port', 'same-site', 'no-cors', 'empty', 403],
    ['a frame in a foreign page', 'cross-site', 'navigate', 'iframe', 403],
    ['a link on a foreign page', 'cross-site', 'navigate', 'document', 200],
    ['a page of the server', 'same-origin', 'cors', 'empty', 200],
    ['an address typed by a person', 'none', 'navigate', 'document', 200],
  ])('with IAM off, without an Origin: %s', async (_, site, mode, dest, status) => {
    http = await open(true)
    const fetched = `Sec-Fetch-Site: ${site}\r\nSec-Fetch-Mode: ${mode}\r\nSec-Fetch-Dest: ${dest}`
    const [statuses] = await asked(`GET /api/v1/a HTTP/1.1\r\nHost: localhost\r\n${fetched}`)
    expect(statuses).toEqual([status])
  })

  test('with IAM off, a foreign name that a trusted proxy forwards is a foreign page', async () => {
    http = await openHttp({
      bindings: [route('GET', '/a', () => ({ status: 200, json: 1 }))],
      cors: { corsOrigins, publicUrls, iamOff: true },
      isProxyTrusted: true,
    })
    const through = (host: string, forwarded: string) =>
      asked(`GET /api/v1/a HTTP/1.1\r\nHost: ${host}\r\nX-Forwarded-Host: ${forwarded}`)
    expect(await through('127.0.0.1:8080', 'devices.example')).toEqual([[200], '1'])
    expect(await through('127.0.0.1:8080', 'evil.example')).toEqual([[421], misdirected])
    expect(await through('evil.example', 'devices.example')).toEqual([[421], misdirected])
  })
})
