import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { request } from '#test/attacks/http-attack'
import { EventClient } from '#test/blackbox/event-client'
import { told } from '#test/blackbox/people'
import { StartedServer } from '#test/blackbox/started-server'
import { RawClient } from '#test/server/raw-client'

/** Without identity and access management. Contract 2, `IAM=off`. */
describe('IAM=off', () => {
  let server: StartedServer

  beforeAll(async () => {
    server = await StartedServer.start({ IAM: 'off' })
  })
  afterAll(() => server?.finish())

  const anonymous = {
    name: 'anonymous',
    tenant: 'default',
    roles: [],
    grants: [{ permissions: { '*': ['*'] }, devices: ['*'], services: ['*'] }],
  }

  test.each<[string, Record<string, string>]>([
    ['no token', {}],
    ['a token that is none', { authorization: 'Bearer garbage' }],
    ['a DPoP token without a proof', { authorization: 'DPoP garbage' }],
    ['a Basic credential', { authorization: 'Basic cm9vdDp4' }],
    ['a key that is none', { 'x-api-key': 'garbage' }],
    ['two of them', { authorization: 'Bearer garbage', 'x-api-key': 'garbage' }],
  ])('with %s everybody is anonymous and may do everything', async (_, headers) => {
    expect(told(await server.get('/iam/me', headers))).toEqual([200, anonymous])
    expect((await server.get('/devices', headers)).status).toBe(200)
    expect((await server.get('/health/status', headers)).status).toBe(200)
  })

  const ticket = '/api/v1/events/ticket'
  test.each([
    ['an image of a foreign page', ticket, 'cross-site', 'no-cors', 'image', 403],
    ['a fetch of a page on another port', ticket, 'same-site', 'no-cors', 'empty', 403],
    ['a frame in a foreign page', ticket, 'cross-site', 'navigate', 'iframe', 403],
    ['a link on a foreign page', '/', 'cross-site', 'navigate', 'document', 200],
    ['our own page', ticket, 'same-origin', 'cors', 'empty', 200],
    ['an address typed by a person', ticket, 'none', 'navigate', 'document', 200],
  ])('%s asks for %s without an Origin', async (_, path, site, mode, dest, status) => {
    const headers = [`Sec-Fetch-Site: ${site}`, `Sec-Fetch-Mode: ${mode}`, `Sec-Fetch-Dest: ${dest}`]
    const client = new RawClient(server.port).send(request('GET', path, ['Host: localhost', ...headers]))
    await client.answers(1)
    client.socket.destroy()
    expect(client.statuses).toEqual([status])
  })

  test.each([
    ['GET', '/iam/users'],
    ['POST', '/iam/users'],
    ['PUT', '/iam/roles/x'],
    ['GET', '/iam/token'],
    ['POST', '/iam/signup'],
    ['GET', '/iam/nothing/of/the/kind'],
    ['POST', '/auth/login'],
    ['DELETE', '/auth/sessions/x'],
    ['GET', '/auth'],
    ['GET', '/iam'],
  ])('%s %s is not there, and it says why', async (method, path) => {
    expect(told(await server.ask(path, { method }))).toEqual([404, { error: 'IAM is off' }])
  })

  test.each(['/iamb', '/author', '/authx/login'])('%s is just not there', async (path) => {
    expect(told(await server.get(path))).toEqual([404, { error: 'Not Found' }])
  })

  test('has no keys to verify with, and makes no key file', async () => {
    for (const place of ['/.well-known/jwks.json', '/api/v1/.well-known/jwks.json']) {
      const response = await fetch(new URL(place, server.base))
      expect([response.status, await response.json()]).toEqual([200, { keys: [] }])
    }
    expect(readdirSync(server.dataFolder)).not.toContain('identity.key')
  })

  test('links and sockets open without credentials, by ticket or without', async () => {
    const body = { deviceIdentifier: 'OPEN-1', services: [], updates: [] }
    expect((await server.ask('/link', { method: 'POST', body })).status).toBe(204)
    const ticketed = await EventClient.open(server)
    const direct = await EventClient.with(server, undefined, {}, { authorization: 'Bearer garbage' }).opened()
    for (const socket of [ticketed, direct]) await socket.close()
  })

  test.each(['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS'])('a foreign page may not even %s', async (method) => {
    for (const origin of ['https://evil.example', 'null', `http://evil.example:${server.port}`]) {
      const answer = await server.ask('/devices', { method, headers: { origin } })
      expect([answer.status, answer.text]).toEqual([403, ''])
    }
  })

  test('is said loudly', () => {
    expect(
      server.run.lines.some(({ level, msg }) => ['warn', 'error'].includes(level) && /IAM is off/i.test(msg)),
    ).toBe(true)
  })
})
