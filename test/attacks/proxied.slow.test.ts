import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { repeatedRows } from '#test/attacks/header-rows'
import { attemptByTls, canary, canaryName, type HttpAttack } from '#test/attacks/http-attack'
import { expectRows, pipeliningRows } from '#test/attacks/pipelining-rows'
import { behindChunksRows, chunkRows, lengthRows, namelessRows, smugglingRows } from '#test/attacks/smuggling-rows'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { domain, NginxProxy, noNginx } from '#test/ops/nginx-proxy'

/**
 * Sends the rows with ambiguous ends through nginx with the shipped configuration. nginx reuses connections for many
 * clients, so bytes that nginx and the server read differently would precede the request of another client. Each row
 * checks that a canary exists only if its client got 201, and that other clients get their own answers.
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
  // In CI, `beforeAll` fails without nginx.
  beforeEach((context) => {
    if (!proxy) context.skip(noNginx)
  })

  const front = () => proxy as NginxProxy
  /** The bytes with the host name of the proxy. */
  const named = (bytes: string) => bytes.replaceAll('Host: localhost\r\n', `Host: ${domain}:${front().port}\r\n`)
  const isCanaryThere = async () => {
    const { status } = await server.get(`/devices/${canaryName}`)
    expect([200, 404]).toContain(status)
    return status === 200
  }

  let asked = 0
  /** Three more clients, for which nginx reuses its connections to the server. */
  const othersAreServed = async () => {
    const ids = [1, 2, 3].map(() => `other-${++asked}`)
    const answers = await Promise.all(
      ids.map((id) => front().ask('/api/v1/health', { headers: { 'x-request-id': id } })),
    )
    const received = answers.map(({ status, headers, text }) => [status, headers['x-request-id'], text])
    expect(received).toEqual(ids.map((id) => [200, id, '{"status":"ok"}']))
  }

  const rows: readonly HttpAttack[] = [
    ...[...smugglingRows, ...chunkRows, ...behindChunksRows, ...lengthRows],
    ...[...repeatedRows, ...pipeliningRows, ...expectRows],
  ]
  test.each(rows.map((row) => [row.name, row] as const))('%s', async (_, { sent }) => {
    const client = await attemptByTls(front().port, domain, {
      sent: typeof sent === 'string' ? named(sent) : sent.map(named),
    })
    await othersAreServed()
    // nginx may forward the canary as a second request of the same client, and answer it.
    const isThere = await isCanaryThere()
    await server.ask(`/devices/${canaryName}`, { method: 'DELETE' })
    const isAnswered = () => client.received().includes('HTTP/1.1 201 ')
    if (isThere) await until(isAnswered, 'the answer to the canary')
    else expect(isAnswered()).toBe(false)
    client.close()
  })

  test.each(namelessRows.map((row) => [row.name, row] as const))('%s', async (_, { sent }) => {
    const client = await attemptByTls(front().port, domain, { sent: named(String(sent)) })
    const text = client.received()
    client.close()
    // nginx answers and closes the connection, and sends nothing to the server.
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nServer: nginx\r\n/)
    expect(text.match(/^HTTP/gm)).toHaveLength(1)
    expect(text).toContain('\r\nConnection: close\r\n')
    await othersAreServed()
    expect(await isCanaryThere()).toBe(false)
  })

  test('these tests detect a request that creates the canary', async () => {
    const client = await attemptByTls(front().port, domain, { sent: named(canary) })
    expect(client.received()).toMatch(/^HTTP\/1\.1 201 /)
    client.close()
    expect(await isCanaryThere()).toBe(true)
    expect((await server.ask(`/devices/${canaryName}`, { method: 'DELETE' })).status).toBe(204)
  })
})
