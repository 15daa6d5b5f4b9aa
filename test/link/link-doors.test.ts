import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LinkCaller } from '#access/link-credentials'
import { deviceAddress, registrarRecord, secretRecord } from '#actors/device/device'
import { tenantAddress } from '#actors/tenant/commands'
import { type Assembly, assemble } from '#app/assembly'
import { Problem } from '#model/problem'
import { deviceRoutes } from '#routes/devices'
import { linkRoutes, linkSocket } from '#routes/link'
import { WebsocketClient } from '#test/blackbox/websocket-client'
import { type Door, openDoor, until, world } from '#test/http/door'
import { inMemory } from '#test/in-memory'

/** Both ways in, by whoever somebody says that credentials are; what they are worth afterwards is ours. */

let assembly: Assembly
let door: Door
let names = 0
const newName = () => `D-${++names}`
const limited = 'KEYlimited'
const open = 'KEYunlimited'

/** `<device>:<secret>` or `*:<key's id>`, as good as what is stored. */
function linkCaller(authorization: string): LinkCaller {
  const [, encoded = ''] = /^Basic (.+)$/.exec(authorization) ?? []
  const [name = '', secret = ''] = Buffer.from(encoded, 'base64').toString().split(':')
  if (name === '*') return { tenant: 'default', key: secret }
  const kept = assembly.context.system.recordOf(deviceAddress('default', name), secretRecord) as Uint8Array | undefined
  if (!kept || !createHash('sha256').update(secret).digest().equals(kept)) throw new Problem('unauthorized')
  return { tenant: 'default', device: name }
}

beforeAll(async () => {
  assembly = assemble(inMemory(world))
  await assembly.open()
  const { context } = assembly
  door = await openDoor({
    bindings: [...deviceRoutes(context), ...linkRoutes(context, { linkCaller })],
    sockets: [linkSocket(context, { linkCaller }, 256 * 1024)],
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
  await door.server.close()
  await assembly.close()
})

const basic = (text: string) => ({ Authorization: `Basic ${Buffer.from(text).toString('base64')}` })

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(door.base + path, {
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
const kept = (device: string) => {
  const { system } = assembly.context
  const of = (name: string) => system.recordOf(deviceAddress('default', device), name)
  return { hasSecret: of(secretRecord) !== undefined, registrar: of(registrarRecord) }
}

/** One that people made: its secret. */
async function made(): Promise<{ device: string; secret: string }> {
  const device = newName()
  const { body } = await call('POST', '/devices', { deviceIdentifier: device })
  return { device, secret: body.secret }
}

/** A link from the devices' end, and what it heard. */
function link(headers: Record<string, string>) {
  const client = new WebsocketClient(`${door.ws}/link`, ['link.v1.json'], headers)
  const heard: Record<string, unknown>[] = []
  client.socket.on('message', (data) => heard.push(JSON.parse(String(data))))
  return {
    client,
    heard,
    async hello(device: string) {
      await client.opened()
      const before = heard.length
      client.socket.send(JSON.stringify({ type: 'HELLO', deviceIdentifier: device, services }))
      await until(() => heard.length > before)
      return heard.at(-1)
    },
  }
}

describe('POST /link', () => {
  test('by its own credentials: for itself, and for nobody else', async () => {
    const { device, secret } = await made()
    expect(await post(`${device}:${secret}`, device)).toEqual({ status: 204, body: undefined })
    const stranger = newName()
    expect(await post(`${device}:${secret}`, stranger)).toEqual({ status: 403, body: undefined })
    expect((await call('GET', `/devices/${stranger}`)).status).toBe(404)
  })

  test.each([
    ['a wrong secret', (device: string) => basic(`${device}:wrong`)],
    ['none', () => ({})],
    ['a token', () => ({ Authorization: 'Bearer abc' })],
  ])('by %s: 401, and nothing is stored', async (_, headers) => {
    const { device } = await made()
    const body = { deviceIdentifier: device, services, updates: [] }
    expect((await call('POST', '/link', body, headers(device))).status).toBe(401)
    expect((await call('GET', `/devices/${device}/services`)).body).toEqual([])
  })

  test('by a key: lets in who is unknown, without a secret, and speaks for it on a link as well', async () => {
    const device = newName()
    expect(await post(`*:${open}`, device)).toMatchObject({ status: 204 })
    expect(kept(device)).toEqual({ hasSecret: false, registrar: open })
    expect(await post(`*:${open}`, device)).toMatchObject({ status: 204 })
    const { client, hello } = link(basic(`*:${open}`))
    const welcome = await hello(device)
    expect(welcome).toMatchObject({ type: 'WELCOME', deviceIdentifier: device })
    expect(welcome).not.toHaveProperty('secret')
    client.cut()
  })

  test('by a key that may not: 403, and no device is made', async () => {
    const { device } = await made()
    expect(await post(`*:${open}`, device)).toEqual({ status: 403, body: undefined })
    const [first, second] = [newName(), newName()]
    expect(await post(`*:${limited}`, first)).toMatchObject({ status: 204 })
    expect(await post(`*:${limited}`, second)).toEqual({ status: 403, body: undefined })
    expect((await call('GET', `/devices/${second}`)).status).toBe(404)
    // The place of one that is removed is free again.
    expect((await call('DELETE', `/devices/${first}`)).status).toBe(204)
    expect(await post(`*:${limited}`, second)).toMatchObject({ status: 204 })
  })
})

describe('GET /link', () => {
  test('by bad credentials: 401 at the upgrade', async () => {
    const { device } = await made()
    for (const headers of [{}, basic(`${device}:wrong`), basic('nobody:x'), { Authorization: 'Bearer abc' }]) {
      expect(await link(headers).client.refused()).toBe(401)
    }
  })

  test('a device that a key let in goes on by itself, with the secret that it was told', async () => {
    const device = newName()
    const gateway = link(basic(`*:${open}`))
    const { secret } = (await gateway.hello(device)) as { secret: string }
    expect(kept(device)).toEqual({ hasSecret: true, registrar: open })
    const own = link(basic(`${device}:${secret}`))
    expect(await own.hello(device)).toMatchObject({ type: 'WELCOME' })
    expect(await own.hello(newName())).toMatchObject({ type: 'ERROR', code: 'NOT_ALLOWED' })
    gateway.client.cut()
    own.client.cut()
  })

  test.each([
    ['its secret is rotated', 'POST', '/secret'],
    ['it is removed', 'DELETE', ''],
  ])('when %s its links are closed, and the old secret is no good', async (_, method, path) => {
    const { device, secret } = await made()
    const speaking = link(basic(`${device}:${secret}`))
    const silent = link(basic(`${device}:${secret}`))
    await speaking.hello(device)
    await silent.client.opened()
    expect((await call(method, `/devices/${device}${path}`)).status).toBeLessThan(300)
    for (const { client } of [speaking, silent]) expect((await client.closed()).code).toBe(4401)
    expect(await link(basic(`${device}:${secret}`)).client.refused()).toBe(401)
  })

  test('a key that is deleted closes its links, and no others', async () => {
    const key = { id: 'KEYshort', name: 'short', hash: new Uint8Array(32), expiresAt: null, maxDevices: null }
    await assembly.context.system.ask(tenantAddress('default'), { type: 'add_provisioning_key', ...key })
    const { device, secret } = await made()
    const own = link(basic(`${device}:${secret}`))
    const gateways = Array.from({ length: 20 }, () => link(basic('*:KEYshort')))
    await own.hello(device)
    for (const { client } of gateways) await client.opened()
    assembly.context.links.keyEnded('default', 'KEYshort')
    for (const { client } of gateways) expect((await client.closed()).code).toBe(4401)
    expect(await own.hello(device)).toMatchObject({ type: 'WELCOME' })
    own.client.cut()
  })
})
