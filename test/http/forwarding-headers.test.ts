import { afterEach, describe, expect, test } from 'vitest'
import { addressOfText, forwardingOf } from '#http/forwarding-headers'
import { RequestHeaders } from '#http/request-head'
import type { ForwardedRequest } from '#model/forwarded-request'
import { type HttpFixture, openHttp, route } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'
import { openSocketHttp } from '#test/http/socket-fixture'

const peer = '198.51.100.9'
const headersOf = (lines: readonly string[]) => new RequestHeaders(lines.flatMap((line) => line.split(/: (.*)/, 2)))

interface Case {
  readonly name: string
  readonly isProxyTrusted?: boolean
  readonly publicUrls?: readonly string[]
  /** As `name: value`. */
  readonly headers: readonly string[]
  readonly forwarded: Partial<ForwardedRequest>
  readonly own?: string
}

const proxyHeaders = [
  'host: inside:8080',
  'x-forwarded-proto: https',
  'x-forwarded-host: Devices.example',
  'x-forwarded-for: 192.0.2.7',
]
const inside = { origins: ['http://inside:8080'], host: 'inside:8080', address: peer }
const outside = { origins: ['https://devices.example'], host: 'devices.example', address: '192.0.2.7' }
const publicUrls = ['https://one.example/prefix/', 'http://two.example:8080']
const publicOrigins = ['https://one.example/prefix', 'http://two.example:8080']

const cases: Case[] = [
  { name: 'Host', headers: ['host: Inside:8080'], forwarded: inside, own: 'http://Inside:8080' },
  { name: 'the default port is none', headers: ['host: a:80'], forwarded: { origins: ['http://a'], host: 'a:80' } },
  {
    name: 'IPv6',
    headers: ['host: [2001:DB8::1]:8080'],
    forwarded: { origins: ['http://[2001:db8::1]:8080'], host: '[2001:db8::1]:8080' },
  },
  {
    name: 'headers of an untrusted proxy are ignored',
    headers: proxyHeaders,
    forwarded: inside,
    own: 'http://inside:8080',
  },
  { name: 'an invalid Host: user information', headers: ['host: a@b'], forwarded: { origins: [], host: 'a@b' } },
  { name: 'an invalid Host: a path', headers: ['host: a/b'], forwarded: { origins: [] } },
  { name: 'an invalid Host: a fragment', headers: ['host: a#b'], forwarded: { origins: [] } },
  { name: 'an invalid Host: a port out of range', headers: ['host: a:99999'], forwarded: { origins: [] } },
  { name: 'no Host', headers: [], forwarded: { origins: [], host: '', address: peer } },
  { name: 'a list', headers: ['host: a, b'], forwarded: { origins: [] } },
  {
    name: 'public URLs instead of Host',
    publicUrls,
    headers: ['host: evil.example'],
    forwarded: { origins: publicOrigins, host: 'evil.example' },
  },
  {
    name: 'public URLs, untrusted headers',
    publicUrls,
    headers: proxyHeaders,
    forwarded: { ...inside, origins: publicOrigins },
  },
  { name: 'a proxy', isProxyTrusted: true, headers: proxyHeaders, forwarded: outside, own: 'https://Devices.example' },
  {
    name: 'a proxy takes precedence over public URLs',
    isProxyTrusted: true,
    publicUrls,
    headers: proxyHeaders,
    forwarded: outside,
  },
  {
    name: 'a proxy that forwards no host, with public URLs',
    isProxyTrusted: true,
    publicUrls,
    headers: ['host: b', 'x-forwarded-proto: https'],
    forwarded: { origins: publicOrigins, host: 'b' },
  },
  {
    name: 'a proxy that keeps Host',
    isProxyTrusted: true,
    headers: ['host: b', 'x-forwarded-proto: https'],
    forwarded: { origins: ['https://b'], host: 'b' },
    own: 'https://b',
  },
  {
    name: 'a proxy that forwards no scheme',
    isProxyTrusted: true,
    headers: ['host: b', 'x-forwarded-host: c'],
    forwarded: { origins: ['http://c'], host: 'c' },
  },
  {
    name: 'a proxy of websockets',
    isProxyTrusted: true,
    headers: ['host: b', 'x-forwarded-proto: WSS'],
    forwarded: { origins: ['https://b'] },
  },
  {
    name: 'an unknown scheme',
    isProxyTrusted: true,
    headers: ['host: b', 'x-forwarded-proto: gopher'],
    forwarded: { origins: ['http://b'] },
  },
  {
    name: 'the last element of a list',
    isProxyTrusted: true,
    headers: [
      'host: b',
      'x-forwarded-proto: http,https',
      'x-forwarded-host: evil, c',
      'x-forwarded-for: 203.0.113.1,\t192.0.2.7',
    ],
    forwarded: { origins: ['https://c'], host: 'c', address: '192.0.2.7' },
  },
  {
    name: 'the last of repeated headers',
    isProxyTrusted: true,
    headers: [
      'host: b',
      'x-forwarded-host: evil',
      'x-forwarded-host: c',
      'x-forwarded-for: 203.0.113.1',
      'x-forwarded-for: 192.0.2.7',
    ],
    forwarded: { origins: ['http://c'], host: 'c', address: '192.0.2.7' },
  },
  {
    name: 'an invalid address: the address of the proxy',
    isProxyTrusted: true,
    headers: ['host: b', 'x-forwarded-for: 192.0.2.7, unknown'],
    forwarded: { address: peer },
  },
  {
    name: 'an empty address: the address of the proxy',
    isProxyTrusted: true,
    headers: ['host: b', 'x-forwarded-for: 192.0.2.7,'],
    forwarded: { address: peer },
  },
]

/** Reads the lazy properties. */
function plain({ origins, host, address }: ForwardedRequest): ForwardedRequest {
  return { origins, host, address }
}

test.each(cases)('$name', ({ isProxyTrusted = false, publicUrls: urls = [], headers, forwarded, own }) => {
  const forwarding = forwardingOf({ isProxyTrusted, publicUrls: urls })
  // The second turn reads the cache.
  for (let turn = 0; turn < 2; turn++)
    expect(forwarding.requestOf(headersOf(headers), () => peer)).toMatchObject(forwarded)
  if (own !== undefined) expect(forwarding.ownOrigin(headersOf(headers))).toBe(own)
})

test('cached requests are never mixed up', () => {
  const forwarding = forwardingOf({ isProxyTrusted: true, publicUrls })
  const direct = headersOf(['host: a'])
  const through = headersOf(['host: b', 'x-forwarded-host: a'])
  for (let turn = 0; turn < 2; turn++) {
    expect(forwarding.requestOf(direct, () => peer).origins).toEqual(publicOrigins)
    expect(forwarding.requestOf(through, () => peer).origins).toEqual(['http://a'])
  }
  for (let host = 0; host < 5_000; host++) {
    expect(forwarding.requestOf(headersOf(['host: b', `x-forwarded-host: h${host}`]), () => peer).origins).toEqual([
      `http://h${host}`,
    ])
  }
})

describe('addresses of X-Forwarded-For', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:50123', '192.0.2.7'],
    ['2001:DB8:0::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:50123', '2001:db8::1'],
    ['::1', '::1'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::ffff:c000:207', '192.0.2.7'],
    ['[::FFFF:192.0.2.7]:1', '192.0.2.7'],
  ])('%s is %s', (text, address) => {
    expect(addressOfText(text)).toBe(address)
  })

  test.each([
    '',
    'unknown',
    '_hidden',
    'a.example',
    '192.0.2',
    '192.0.2.256',
    '[192.0.2.7]',
    '1:2',
    'fe80::1%eth0',
    '[::1',
    '192.0.2.7:port',
  ])('%j is not an address', (text) => {
    expect(addressOfText(text)).toBeUndefined()
  })
})

describe('over a connection', () => {
  let http: HttpFixture
  afterEach(() => http.server.close())
  const seen = route('GET', '/seen', (call) => ({ status: 200, json: plain(call.forwarded) }))
  const headers = {
    'X-Forwarded-Proto': 'https',
    'X-Forwarded-Host': 'devices.example',
    'X-Forwarded-For': '192.0.2.7',
  }

  test('a route gets the values of a trusted proxy', async () => {
    http = await openHttp({ bindings: [seen], isProxyTrusted: true })
    expect(await (await fetch(`${http.base}/seen`, { headers })).json()).toEqual(outside)
  })

  test('without one a route gets the values of the connection', async () => {
    http = await openHttp({ bindings: [seen] })
    const host = `127.0.0.1:${http.port}`
    const here = { origins: [`http://${host}`], host, address: '127.0.0.1' }
    expect(await (await fetch(`${http.base}/seen`, { headers })).json()).toEqual(here)
  })

  test('pages of the forwarded origin may read', async () => {
    http = await openHttp({ bindings: [seen], isProxyTrusted: true })
    const allowedTo = async (origin: string) => {
      const { headers: got } = await fetch(`${http.base}/seen`, { headers: { ...headers, Origin: origin } })
      return got.get('access-control-allow-origin')
    }
    expect(await allowedTo('https://devices.example')).toBe('https://devices.example')
    expect(await allowedTo('http://devices.example')).toBeNull()
    expect(await allowedTo(`http://127.0.0.1:${http.port}`)).toBeNull()
  })

  test('authentication gets the same values, every line of a header, and the access of the route', async () => {
    const shown: unknown[] = []
    const access = { resource: 'meta', action: 'read', within: 'list' } as const
    http = await openHttp({
      bindings: [route('GET', '/meta', () => ({ status: 204 }), { access })],
      authenticate(request, wanted) {
        const {
          method,
          path,
          query,
          forwarded: { address },
        } = request
        const counts = ['authorization', 'dpop', 'x-api-key'].map((name) => request.headerCount(name))
        shown.push({ method, path, query, address, counts, wanted })
        throw new Error('seen')
      },
    })
    const client = new RawClient(http.port)
    client.send('GET /api/v1/meta?a=%20 HTTP/1.1\r\nHost: a\r\nDPoP: x\r\ndpop: y\r\nAuthorization: \r\n\r\n')
    await client.answers(1)
    client.socket.destroy()
    const request = { method: 'GET', path: '/api/v1/meta', query: 'a=%20', address: '127.0.0.1' }
    expect(shown).toEqual([{ ...request, counts: [1, 2, 0], wanted: access }])
  })

  test('an upgrade has the same values as a request', async () => {
    const shown: unknown[] = []
    const { recorder: _, ...opened } = await openSocketHttp(
      {
        path: '/events',
        upgrade(request) {
          shown.push([request.method, request.headerCount('dpop'), plain(request.forwarded)])
          throw new Error('seen')
        },
      },
      { isProxyTrusted: true },
    )
    http = opened
    const client = new RawClient(http.port)
    client.send(
      'GET /api/v1/events HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nDPoP: x\r\n' +
        'X-Forwarded-Host: devices.example\r\nX-Forwarded-Proto: https\r\nX-Forwarded-For: 192.0.2.7\r\n' +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
    )
    await client.answers(1)
    client.socket.destroy()
    expect(shown).toEqual([['GET', 1, outside]])
  })
})

test('the address of the peer is read once, and only if it is needed', () => {
  const forwarding = forwardingOf({ isProxyTrusted: false, publicUrls: [] })
  let asked = 0
  const request = forwarding.requestOf(headersOf(['host: a']), () => {
    asked++
    return peer
  })
  expect([request.origins, request.host, asked]).toEqual([['http://a'], 'a', 0])
  expect([request.address, request.address, asked]).toEqual([peer, peer, 1])
})
