import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LinkCaller } from '#access/link-credentials'
import { deviceAddress, registrarRecord, secretRecord } from '#actors/device/device'
import { tenantAddress } from '#actors/tenant/commands'
import { type Assembly, assemble } from '#app/assembly'
import { Problem } from '#model/problem'
import { deviceRoutes } from '#routes/devices'
import { linkRoutes } from '#routes/link'
import { type HttpFixture, openHttp, world } from '#test/http/http-fixture'
import { memoryServerOptions } from '#test/memory-server'

let assembly: Assembly
let http: HttpFixture
let names = 0
const newName = () => `D-${++names}`
const limited = 'KEYlimited'
const open = 'KEYunlimited'

/** Accepts `<device>:<secret>` or `*:<id of a key>`, checked against the store. */
function linkCaller(authorization: string): LinkCaller {
  const [, encoded = ''] = /^Basic (.+)$/.exec(authorization) ?? []
  const [name = '', secret = ''] = Buffer.from(encoded, 'base64').toString().split(':')
  if (name === '*') return { tenant: 'default', key: secret }
  const kept = assembly.context.system.recordOf(deviceAddress('default', name), secretRecord) as Uint8Array | undefined
  if (!kept || !createHash('sha256').update(secret).digest().equals(kept)) throw new Problem('unauthorized')
  return { tenant: 'default', device: name }
}

beforeAll(async () => {
  assembly = assemble(memoryServerOptions(world))
  await assembly.open()
  const { context } = assembly
  http = await openHttp({
    bindings: [...deviceRoutes(context), ...linkRoutes(context, { linkCaller })],
  })
  for (const [id, maxDevices] of [
    [limited, 1],
    [open, null],
  ] as const) {
    const key = { id, name: id, hash: new Uint8Array(32), expiresAt: null, maxDevices }
    await context.system.ask(tenantAddress('default'), { type: 'add_provisioning_key', ...key })
  }
})
afterAll(async () => {
  await http.server.close()
  await assembly.close()
})

const basic = (text: string) => ({ Authorization: `Basic ${Buffer.from(text).toString('base64')}` })

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(http.base + path, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}

const services = [{ serviceIdentifier: 'svc', properties: [{ propId: 1, type: 'UINT8' }] }]
const post = (as: string, deviceIdentifier: string) =>
  call('POST', '/link', { deviceIdentifier, services, updates: [] }, basic(as))
const storedCredentials = (device: string) => {
  const { system } = assembly.context
  const of = (name: string) => system.recordOf(deviceAddress('default', device), name)
  return { hasSecret: of(secretRecord) !== undefined, registrar: of(registrarRecord) }
}

/** Creates a device with a secret. */
async function createDevice(): Promise<{ device: string; secret: string }> {
  const device = newName()
  const { body } = await call('POST', '/devices', { deviceIdentifier: device })
  return { device, secret: body.secret }
}

describe('POST /link', () => {
  test('accepts a device with its own secret, for that device only', async () => {
    const { device, secret } = await createDevice()
    expect(await post(`${device}:${secret}`, device)).toEqual({ status: 204, body: undefined })
    const stranger = newName()
    expect(await post(`${device}:${secret}`, stranger)).toEqual({ status: 403, body: undefined })
    expect((await call('GET', `/devices/${stranger}`)).status).toBe(404)
  })

  test.each([
    ['a wrong secret', (device: string) => basic(`${device}:wrong`)],
    ['no credentials', () => ({})],
    ['a token', () => ({ Authorization: 'Bearer abc' })],
  ])('answers 401 to %s and stores nothing', async (_, headers) => {
    const { device } = await createDevice()
    const body = { deviceIdentifier: device, services, updates: [] }
    expect((await call('POST', '/link', body, headers(device))).status).toBe(401)
    expect((await call('GET', `/devices/${device}/services`)).body).toEqual([])
  })

  test('registers an unknown device for a key, without a secret', async () => {
    const device = newName()
    expect(await post(`*:${open}`, device)).toMatchObject({ status: 204 })
    expect(storedCredentials(device)).toEqual({ hasSecret: false, registrar: open })
    expect(await post(`*:${open}`, device)).toMatchObject({ status: 204 })
  })

  test('answers 403 to a key without permission and creates no device', async () => {
    const { device } = await createDevice()
    expect(await post(`*:${open}`, device)).toEqual({ status: 403, body: undefined })
    const [first, second] = [newName(), newName()]
    expect(await post(`*:${limited}`, first)).toMatchObject({ status: 204 })
    expect(await post(`*:${limited}`, second)).toEqual({ status: 403, body: undefined })
    expect((await call('GET', `/devices/${second}`)).status).toBe(404)
    // A removed device no longer counts.
    expect((await call('DELETE', `/devices/${first}`)).status).toBe(204)
    expect(await post(`*:${limited}`, second)).toMatchObject({ status: 204 })
  })

  test('declares and reports, and a faulty body is refused as a whole', async () => {
    const device = newName()
    const body = (updates: readonly object[], more: object = {}) =>
      call('POST', '/link', { deviceIdentifier: device, updates, ...more }, basic(`*:${open}`))
    const update = (value: unknown) => ({ serviceIdentifier: 'svc', propId: 1, value })
    const unknown = await body([update(1)])
    expect([unknown.status, unknown.body]).toMatchObject([400, { details: [{ path: 'services' }] }])
    const declared = (value: unknown) => [
      { serviceIdentifier: 'svc', properties: [{ propId: 1, type: 'UINT8', value }] },
    ]
    const details = [{ path: 'services.0.properties.0.value', message: 'must be an integer from 0 to 255' }]
    expect((await body([], { services: declared(-1) })).body).toEqual({ error: 'Validation Error', details })
    expect((await body([update('warm')], { services })).status).toBe(400)
    expect((await call('GET', `/devices/${device}`)).status).toBe(404)
    expect((await body([update(20)], { services })).status).toBe(204)
    const partly = await body([update(5), update('warm')])
    expect([partly.status, partly.body]).toMatchObject([400, { details: [{ path: 'updates.1.value' }] }])
    expect((await call('GET', `/devices/${device}/services/svc/properties`)).body).toMatchObject({ 1: { value: 20 } })
  })
})
