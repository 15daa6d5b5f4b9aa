import { afterEach, describe, expect, test } from 'vitest'
import { addressOfText, Forwarding } from '#http/origins'
import { RequestHeaders } from '#http/request-head'
import type { ForwardedRequest } from '#model/forwarded-request'
import { type HttpFixture, openHttp, route } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'
import { openSocketHttp } from '#test/http/socket-fixture'

const peer = '198.51.100.9'
const headersOf = (lines: readonly string[]) => new RequestHeaders(lines.flatMap((line) => line.split(/: (.*)/, 2)))

/** `headers`: as `name: value`, separated by `;`. `own`: the origin as the client wrote it. */
type Case = readonly [name: string, headers: string, expected: Partial<ForwardedRequest>, own?: string]

const proxyHeaders =
  'host: inside:8080;x-forwarded-proto: https;x-forwarded-host: Devices.example;x-forwarded-for: 192.0.2.7'
const inside = { origins: ['http://inside:8080'], host: 'inside:8080', address: peer }
const outside = { origins: ['https://devices.example'], host: 'devices.example', address: '192.0.2.7' }
const publicUrls = ['https://one.example/prefix/', 'http://two.example:8080']
const publicOrigins = ['https://one.example/prefix', 'http://two.example:8080']

const direct: readonly Case[] = [
  ['Host', 'host: Inside:8080', inside, 'http://Inside:8080'],
  ['no default port in the origin', 'host: a:80', { origins: ['http://a'], host: 'a:80' }],
  ['IPv6', 'host: [2001:DB8::1]:8080', { origins: ['http://[2001:db8::1]:8080'], host: '[2001:db8::1]:8080' }],
  ['headers of an untrusted proxy are ignored', proxyHeaders, inside, 'http://inside:8080'],
  ['an invalid Host: user information', 'host: a@b', { origins: [], host: 'a@b' }],
  ['an invalid Host: a path', 'host: a/b', { origins: [] }],
  ['an invalid Host: a fragment', 'host: a#b', { origins: [] }],
  ['an invalid Host: a port out of range', 'host: a:99999', { origins: [] }],
  ['no Host', '', { origins: [], host: '', address: peer }],
  ['a list', 'host: a, b', { origins: [] }],
]
const withPublicUrls: readonly Case[] = [
  ['public URLs instead of Host', 'host: evil.example', { origins: publicOrigins, host: 'evil.example' }],
  ['public URLs, untrusted headers', proxyHeaders, { ...inside, origins: publicOrigins }],
]
const https = 'x-forwarded-proto: https'
const lists = 'x-forwarded-proto: http,https;x-forwarded-host: evil, c;x-forwarded-for: 203.0.113.1,\t192.0.2.7'
const repeated = 'x-forwarded-host: evil;x-forwarded-host: c;x-forwarded-for: 203.0.113.1;x-forwarded-for: 192.0.2.7'
const byProxy: readonly Case[] = [
  ['a proxy', proxyHeaders, outside, 'https://Devices.example'],
  ['a proxy that keeps Host', `host: b;${https}`, { origins: ['https://b'], host: 'b' }, 'https://b'],
  ['a proxy that forwards no scheme', 'host: b;x-forwarded-host: c', { origins: ['http://c'], host: 'c' }],
  ['a proxy of websockets', 'host: b;x-forwarded-proto: WSS', { origins: ['https://b'] }],
  ['an unknown scheme', 'host: b;x-forwarded-proto: gopher', { origins: ['http://b'] }],
  ['the last element of a list', `host: b;${lists}`, { origins: ['https://c'], host: 'c', address: '192.0.2.7' }],
  ['the last of repeated headers', `host: b;${repeated}`, { origins: ['http://c'], host: 'c', address: '192.0.2.7' }],
  ['an invalid address: the one of the proxy', 'host: b;x-forwarded-for: 192.0.2.7, unknown', { address: peer }],
  ['an empty address: the one of the proxy', 'host: b;x-forwarded-for: 192.0.2.7,', { address: peer }],
]
const byProxyWithPublicUrls: readonly Case[] = [
  ['a proxy takes precedence over public URLs', proxyHeaders, outside],
  ['a proxy that forwards no host', `host: b;${https}`, { origins: publicOrigins, host: 'b' }],
]

interface Setting {
  readonly isProxyTrusted: boolean
  readonly publicUrls: readonly string[]
}
const none: readonly string[] = []
const tables: readonly (readonly [Setting, readonly Case[]])[] = [
  [{ isProxyTrusted: false, publicUrls: none }, direct],
  [{ isProxyTrusted: false, publicUrls }, withPublicUrls],
  [{ isProxyTrusted: true, publicUrls: none }, byProxy],
  [{ isProxyTrusted: true, publicUrls }, byProxyWithPublicUrls],
]

/** Reads the lazy properties. */
function plain({ origins, host, address }: ForwardedRequest): ForwardedRequest {
  return { origins, host, address }
}

test.each(tables.flatMap(([setting, cases]) => cases.map(([name, ...row]) => ({ name, setting, row }))))(
  'the origins, host and address of a request: $name',
  ({ setting, row: [lines, forwarded, own] }) => {
    const forwarding = new Forwarding(setting)
    const headers = headersOf(lines === '' ? [] : lines.split(';'))
    // The second round reads the cache.
    for (let turn = 0; turn < 2; turn++) expect(forwarding.requestOf(headers, () => peer)).toMatchObject(forwarded)
    if (own !== undefined) expect(forwarding.ownOrigin(headers)).toBe(own)
  },
)

test('cached requests are never mixed up', () => {
  const forwarding = new Forwarding({ isProxyTrusted: true, publicUrls })
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
  const forwarding = new Forwarding({ isProxyTrusted: false, publicUrls: [] })
  let asked = 0
  const request = forwarding.requestOf(headersOf(['host: a']), () => {
    asked++
    return peer
  })
  expect([request.origins, request.host, asked]).toEqual([['http://a'], 'a', 0])
  expect([request.address, request.address, asked]).toEqual([peer, peer, 1])
})
