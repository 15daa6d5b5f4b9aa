import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Person, startWithIdentity } from '#test/blackbox/people'
import type { StartedServer } from '#test/blackbox/started-server'

/** A request whose headers came in time, and whose body does not: it keeps no right alive. Contract 2. */
describe('a body that comes late', () => {
  let server: StartedServer
  let admin: Person
  let made = 0

  beforeAll(async () => {
    server = await startWithIdentity()
    admin = await Person.signIn(server)
  })
  afterAll(() => server?.finish())

  /** Sends what is asked but for the end of its body; answers how to send that too. */
  async function begin(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body: object,
  ): Promise<() => Promise<{ status: number; text: string }>> {
    const text = JSON.stringify(body)
    const { hostname, port } = new URL(server.base)
    const socket = connect(Number(port), hostname)
    let received = ''
    socket.setEncoding('utf8').on('data', (part) => {
      received += part
    })
    const ended = new Promise((done) => socket.once('close', done))
    const lines = Object.entries({
      host: `${hostname}:${port}`,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(text)),
      connection: 'close',
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`)
    const sent = `${method} /api/v1${path} HTTP/1.1\r\n${lines.join('')}\r\n${text.slice(0, 5)}`
    await new Promise<void>((done) => socket.write(sent, () => done()))
    // The server has them once it has answered somebody who came later.
    expect((await server.get('/health')).status).toBe(200)
    return async () => {
      socket.write(text.slice(5))
      await ended
      return { status: Number(received.slice(9, 12)), text: received.slice(received.indexOf('\r\n\r\n') + 4) }
    }
  }

  const newKey = { name: 'late', roles: ['admin'] }

  async function another(roles: readonly string[] = ['admin']): Promise<Person> {
    made++
    return admin.bringIn(`late-${made}`, roles)
  }

  test('is answered like any other', async () => {
    const finish = await begin('POST', '/iam/api-keys', (await another()).headers, newKey)
    expect((await finish()).status).toBe(201)
  })

  test.each<[string, (who: Person) => Promise<unknown>]>([
    ['deleted', (who) => admin.delete(`/iam/users/${who.name}`)],
    ['disabled', (who) => admin.patch(`/iam/users/${who.name}`, { state: 'disabled' })],
    ['signed out by somebody else', (who) => admin.delete(`/iam/users/${who.name}/sessions`)],
  ])('makes nothing for somebody who was %s meanwhile', async (_, end) => {
    const who = await another()
    const before = await admin.get('/iam/api-keys')
    const finish = await begin('POST', '/iam/api-keys', who.headers, newKey)
    await end(who)
    expect(await finish()).toEqual({ status: 401, text: '{"error":"session over"}' })
    expect((await admin.get('/iam/api-keys')).json).toEqual(before.json)
  })

  test('is judged by the roles of now', async () => {
    const who = await another()
    const finish = await begin('PUT', '/iam/roles/late', who.headers, {
      grants: [{ permissions: { '*': ['*'] }, devices: ['*'], services: ['*'] }],
    })
    expect((await admin.patch(`/iam/users/${who.name}`, { roles: ['viewer'] })).status).toBe(200)
    expect(await finish()).toEqual({ status: 403, text: '' })
    expect((await admin.get('/iam/roles/late')).status).toBe(404)
  })

  test('is judged by what its role means now', async () => {
    await admin.putRole('maker', { permissions: { device: ['create'] }, devices: ['*'], services: ['*'] })
    const who = await another(['maker'])
    const [allowed, refused] = [{ deviceIdentifier: 'LATE-1' }, { deviceIdentifier: 'LATE-2' }]
    const inside = await begin('POST', '/devices', who.headers, allowed)
    const outside = await begin('POST', '/devices', who.headers, refused)
    await admin.putRole('maker', { permissions: { device: ['create'] }, devices: ['LATE-1'], services: ['*'] })
    expect((await inside()).status).toBe(201)
    expect((await outside()).status).toBe(404)
    expect((await admin.get('/devices/LATE-2')).status).toBe(404)
  })

  test('of an API key that was deleted meanwhile makes nothing', async () => {
    const key = (await admin.post('/iam/api-keys', { name: 'soon gone', roles: ['admin'] })).json as {
      id: string
      key: string
    }
    const finish = await begin('POST', '/devices', { 'x-api-key': key.key }, { deviceIdentifier: 'LATE-3' })
    expect((await admin.delete(`/iam/api-keys/${key.id}`)).status).toBe(204)
    expect(await finish()).toEqual({ status: 401, text: '{"error":"invalid API key"}' })
    expect((await admin.get('/devices/LATE-3')).status).toBe(404)
  })

  test('of the administrator of a tenant that was made anew meanwhile makes nothing in it', async () => {
    const tenant = { tenantIdentifier: 'late', name: 'Late' }
    expect((await admin.post('/iam/tenants', tenant)).status).toBe(201)
    const boss = await admin.bringIn('late-boss', ['admin'], {}, '?tenant=late')
    const finish = await begin('POST', '/devices', boss.headers, { deviceIdentifier: 'GHOST-1' })
    expect((await admin.delete('/iam/tenants/late')).status).toBe(204)
    await expect.poll(async () => (await admin.post('/iam/tenants', tenant)).status).toBe(201)
    expect((await finish()).status).toBe(401)
    const next = await admin.bringIn('late-next', ['admin'], {}, '?tenant=late')
    expect((await next.get('/devices/GHOST-1')).status).toBe(404)
  })
})
