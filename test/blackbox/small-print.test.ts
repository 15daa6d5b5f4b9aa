import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { StartedServer } from '#test/blackbox/started-server'

/** What is easily lost: answers that were wrong once. */
describe('the small print', () => {
  let server: StartedServer
  beforeAll(async () => {
    server = await StartedServer.start()
  })
  afterAll(() => server.stop())

  const get = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${server.base}${path}`, { headers })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  const post = async (body: unknown) => {
    const headers = { 'Content-Type': 'application/json' }
    const response = await fetch(`${server.base}/link`, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }

  test('says who asks, and that identity is off', async () => {
    expect((await get('/iam/me')).body).toEqual({
      name: 'anonymous',
      tenant: 'default',
      roles: [],
      grants: [{ permissions: { '*': ['*'] }, devices: ['*'], services: ['*'] }],
    })
    for (const path of ['/iam/users', '/iam/roles/admin', '/auth/sessions']) {
      expect(await get(path)).toMatchObject({ status: 404, body: { error: 'IAM is off' } })
    }
    expect(await get('/iamb')).toMatchObject({ status: 404, body: { error: 'Not Found' } })
  })

  test('an answer that changed is sent anew, also when no event told the change', async () => {
    const services = (propIds: number[]) => [
      { serviceIdentifier: 's', properties: propIds.map((propId) => ({ propId, type: 'FLOAT' })) },
    ]
    expect((await post({ deviceIdentifier: 'SMALL-1', services: services([1]), updates: [] })).status).toBe(204)
    const etag = (await get('/devices?depth=2')).headers.get('etag') ?? ''
    expect((await get('/devices?depth=2', { 'If-None-Match': etag })).status).toBe(304)
    expect((await post({ deviceIdentifier: 'SMALL-1', services: services([1, 2]), updates: [] })).status).toBe(204)
    expect((await get('/devices?depth=2', { 'If-None-Match': etag })).status).toBe(200)
  })

  test('a declared value that does not fit is named', async () => {
    const properties = [
      { propId: 9, type: 'BOOL' },
      { propId: 1, type: 'UINT8', value: -1 },
    ]
    const services = [{ serviceIdentifier: 's', properties }]
    expect(await post({ deviceIdentifier: 'SMALL-2', services, updates: [] })).toEqual({
      status: 400,
      body: {
        error: 'Validation Error',
        details: [{ path: 'services.0.properties.1.value', message: 'must be an integer from 0 to 255' }],
      },
    })
    expect((await get('/devices/SMALL-2')).status).toBe(404)
  })
})
