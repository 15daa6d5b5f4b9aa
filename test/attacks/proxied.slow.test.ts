import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { twiceRows } from '#test/attacks/header-rows'
import { attemptByTls, canary, canaryName, type HttpAttack } from '#test/attacks/http-attack'
import { expectRows, pipeliningRows } from '#test/attacks/pipelining-rows'
import { postByHttp2 } from '#test/attacks/raw-http2'
import { behindChunksRows, chunkRows, lengthRows, namelessRows, smugglingRows } from '#test/attacks/smuggling-rows'
import { StartedServer } from '#test/blackbox/started-server'
import { domain, NginxProxy, noNginx } from '#test/ops/nginx-proxy'

/**
 * The same behind nginx with the configuration that we ship: rows of which two readers may see the end in two places.
 * Connections to the server are kept there and carry requests of many clients, so what nginx and the server read in two ways
 * would be put in front of somebody else's request. It asks the server whether the canary is there, and others whether they
 * hear their own answers.
 */
describe('behind nginx', () => {
  let server: StartedServer
  let proxy: NginxProxy | undefined

  beforeAll(async () => {
    if (noNginx && !process.env.CI) {
      console.warn(noNginx)
      return
    }
    server = await StartedServer.start({ TRUST_PROXY: 'on', PUBLIC_URL: `https://${domain}` })
    proxy = await NginxProxy.start(server.port)
  })
  afterAll(async () => {
    await proxy?.stop()
    await server?.finish()
  })
  // In CI there has to be one: there the start above fails.
  beforeEach((context) => {
    if (!proxy) context.skip(noNginx)
  })

  const front = () => proxy as NginxProxy
  /** By the name that the proxy answers to. */
  const named = (bytes: string) => bytes.replaceAll('Host: localhost\r\n', `Host: ${domain}:${front().port}\r\n`)
  const isCanaryThere = async () => {
    const { status } = await server.get(`/devices/${canaryName}`)
    expect([200, 404]).toContain(status)
    return status === 200
  }

  let asked = 0
  /** Three who come behind, each over a connection of his own: nginx hands them what it kept open. */
  const othersAreServed = async () => {
    const ids = [1, 2, 3].map(() => `other-${++asked}`)
    const answers = await Promise.all(
      ids.map((id) => front().ask('/api/v1/health', { headers: { 'x-request-id': id } })),
    )
    const heard = answers.map(({ status, headers, text }) => [status, headers['x-request-id'], text])
    expect(heard).toEqual(ids.map((id) => [200, id, '{"status":"ok"}']))
  }

  const rows: readonly HttpAttack[] = [
    ...[...smugglingRows, ...chunkRows, ...behindChunksRows, ...lengthRows],
    ...[...twiceRows, ...pipeliningRows, ...expectRows],
  ]
  test.each(rows.map((row) => [row.what, row] as const))('%s', async (_, { sent }) => {
    const told = await attemptByTls(front().port, domain, {
      sent: typeof sent === 'string' ? named(sent) : sent.map(named),
    })
    await othersAreServed()
    // What nginx takes for a second request of the same client, and answers as one, is no secret to it.
    const isThere = await isCanaryThere()
    await server.ask(`/devices/${canaryName}`, { method: 'DELETE' })
    expect(isThere).toBe(told.includes('HTTP/1.1 201 '))
  })

  test.each(namelessRows.map((row) => [row.what, row] as const))('%s', async (_, { sent }) => {
    const told = await attemptByTls(front().port, domain, { sent: named(String(sent)) })
    // nginx itself, which says no more, closes, and asks the server nothing.
    expect(told).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nServer: nginx\r\n/)
    expect(told.match(/^HTTP/gm)).toHaveLength(1)
    expect(told).toContain('\r\nConnection: close\r\n')
    await othersAreServed()
    expect(await isCanaryThere()).toBe(false)
  })

  const byHttp2 = (name: string, body: string) =>
    postByHttp2(front().port, domain, {
      authority: `${domain}:${front().port}`,
      path: '/api/v1/devices',
      headers: [
        ['content-type', 'application/json'],
        [name, 'b'],
        ['content-length', String(body.length)],
      ],
      body,
    })
  // As nginx 1.22 ends them.
  test.each([
    ['no name', '', 'closed'],
    ['a colon for a name', ':', 'answered'],
    ['a colon in front of its name', ':b', 'answered'],
    ['a colon behind its name', 'b:', 'reset'],
    ['a line end for a name', '\r\n', 'reset'],
    ['a line in its name', 'b\r\n: b\r\nc', 'reset'],
  ])('a header with %s, in HTTP/2', async (_, name, end) => {
    expect(await byHttp2(name, canary)).toBe(end)
    await othersAreServed()
    expect(await isCanaryThere()).toBe(false)
  })

  test('a canary that is meant is seen, in HTTP/2 too', async () => {
    expect(await byHttp2('x-b', canary.slice(canary.indexOf('{')))).toBe('answered')
    expect(await isCanaryThere()).toBe(true)
    expect((await server.ask(`/devices/${canaryName}`, { method: 'DELETE' })).status).toBe(204)
  })

  test('a canary that is meant is seen', async () => {
    expect(await attemptByTls(front().port, domain, { sent: named(canary) })).toMatch(/^HTTP\/1\.1 201 /)
    expect(await isCanaryThere()).toBe(true)
    expect((await server.ask(`/devices/${canaryName}`, { method: 'DELETE' })).status).toBe(204)
  })
})
