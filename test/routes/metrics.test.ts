import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Metrics, type MetricsForm, metricsRoutes } from '#routes/metrics'
import { type HttpFixture, openHttp, until, world } from '#test/http/http-fixture'
import { RawClient } from '#test/http/raw-client'

const token = 'token-of-the-scraper'
const pieceCharacters = 32 * 1024

/** Metrics in `count` pieces; counts the produced ones. */
class SomeMetrics implements Metrics {
  made = 0
  readonly #count: number

  constructor(count: number) {
    this.#count = count
  }

  contentTypeOf(form: MetricsForm): string {
    return `text/${form}`
  }

  async *pieces(): AsyncGenerator<string> {
    for (let piece = 0; piece < this.#count; piece++) {
      this.made++
      yield `${'x'.repeat(pieceCharacters - 1)}\n`
    }
  }
}

function openMetrics(metrics: Metrics, known: string | undefined): Promise<HttpFixture> {
  return openHttp({ rootBindings: metricsRoutes({ world, metrics, token: known }) })
}

function ask({ port }: HttpFixture, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/metrics`, { headers })
}

describe('with a token', () => {
  let http: HttpFixture
  beforeAll(async () => {
    http = await openMetrics(new SomeMetrics(2), token)
  })
  afterAll(() => http.server.close())

  test('every client with the token gets the metrics', async () => {
    const answer = await ask(http, { authorization: `Bearer ${token}` })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/prometheus')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(await answer.text()).toHaveLength(2 * pieceCharacters)
  })

  test('also through a proxy, and with any case of the scheme', async () => {
    const headers = { authorization: `bearer ${token}`, 'x-forwarded-for': '192.0.2.1' }
    expect((await ask(http, headers)).status).toBe(200)
  })

  test.each([
    ['nothing', {}],
    ['another', { authorization: 'Bearer another' }],
    ['the beginning of the token', { authorization: `Bearer ${token.slice(0, -1)}` }],
    ['more than the token', { authorization: `Bearer ${token}x` }],
    ['nothing after the scheme', { authorization: 'Bearer ' }],
    ['another scheme', { authorization: `Basic ${btoa(`${token}:${token}`)}` }],
    ['two', { authorization: `Bearer ${token}, Bearer ${token}` }],
    ['an API token instead', { 'x-api-key': token }],
  ])('the answer is 401 for %s', async (_, headers: Record<string, string>) => {
    const answer = await ask(http, headers)
    expect(answer.status).toBe(401)
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="metrics"')
    expect(await answer.json()).toEqual({ error: 'METRICS_TOKEN is required as Bearer token' })
  })

  test('only GET is allowed, and no path below the base path', async () => {
    const url = `http://127.0.0.1:${http.port}/metrics`
    const authorization = `Bearer ${token}`
    expect((await fetch(url, { method: 'POST', headers: { authorization } })).status).toBe(405)
    expect((await fetch(`${http.base}/metrics`, { headers: { authorization } })).status).toBe(404)
  })

  test.each([
    ['', 'prometheus'],
    ['*/*', 'prometheus'],
    ['text/html', 'prometheus'],
    ['application/openmetrics-text', 'openmetrics'],
    ['application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2', 'openmetrics'],
    ['text/plain;version=0.0.4;q=0.6, application/openmetrics-text;q=0.5', 'prometheus'],
    ['application/openmetrics-text;q=0', 'prometheus'],
  ])('Accept "%s" gets %s', async (accept, form) => {
    const answer = await ask(http, { accept, authorization: `Bearer ${token}` })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, `text/${form}`])
    await answer.text()
  })
})

describe('without a token', () => {
  let http: HttpFixture
  beforeAll(async () => {
    http = await openMetrics(new SomeMetrics(1), undefined)
  })
  afterAll(() => http.server.close())

  test('local requests get the metrics with any credential', async () => {
    expect((await ask(http)).status).toBe(200)
    expect((await ask(http, { authorization: 'Bearer undefined' })).status).toBe(200)
  })

  test.each([
    'forwarded',
    'via',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
    'x-forwarded-port',
    'x-real-ip',
  ])('the answer is 403 without a text for requests through a proxy: %s', async (name) => {
    const answer = await ask(http, { [name]: '127.0.0.1' })
    expect([answer.status, await answer.text()]).toEqual([403, ''])
  })

  /** Returns the status of the answer to a browser that uses this host name. */
  async function asked(host: string, site = 'none'): Promise<number | undefined> {
    const head = `GET /metrics HTTP/1.1\r\nHost: ${host}\r\nSec-Fetch-Site: ${site}\r\nConnection: close\r\n\r\n`
    const client = new RawClient(http.port).send(head)
    await client.closed()
    return client.statuses[0]
  }

  test.each(['localhost', 'LOCALHOST:8080', '127.0.0.1:8080', '127.1.2.3', '[::1]:8080'])(
    'a request to the host %s is local',
    async (host) => {
      expect(await asked(host)).toBe(200)
      expect(await asked(host, 'same-origin')).toBe(200)
    },
  )

  test.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example:8080', '10.0.0.1', '[::2]'])(
    'a request to the host %s may come from another site, and gets 403',
    async (host) => {
      expect(await asked(host)).toBe(403)
    },
  )

  test.each(['cross-site', 'same-site'])('a %s page gets 403, too', async (site) => {
    expect(await asked('localhost', site)).toBe(403)
  })
})

test('a client that does not read causes no more pieces than fit into its buffer', async () => {
  const metrics = new SomeMetrics(10_000)
  const http = await openMetrics(metrics, undefined)
  const { socket } = new RawClient(http.port)
  socket.pause()
  socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await until(() => metrics.made > 0)
  let before = -1
  await until(() => {
    const stands = metrics.made === before
    before = metrics.made
    return stands
  })
  expect(metrics.made).toBeLessThan(1_000)
  socket.destroy()
  await http.server.close()
})
