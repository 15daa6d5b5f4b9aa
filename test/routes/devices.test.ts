import { afterAll, describe, expect, test } from 'vitest'
import { EventClient } from '#test/blackbox/event-client'
import { LinkClient } from '#test/blackbox/link-client'
import { climate, degrees, sensor } from '#test/blackbox/sensor'
import { StartedServer } from '#test/blackbox/started-server'

const server = await StartedServer.here()
afterAll(() => server.finish())

/** Creating and deleting devices, and their secrets. Contract 3.11. */
describe('devices', () => {
  let names = 0
  const newName = () => `DEVICE-${++names}`

  const create = (body: unknown) => server.ask('/devices', { method: 'POST', body })
  const remove = (device: string) => server.ask(`/devices/${device}`, { method: 'DELETE' })
  const rotate = (device: string) => server.ask(`/devices/${device}/secret`, { method: 'POST' })
  const secretIn = (json: unknown) => (json as { secret: string }).secret

  test('are created with a secret that is shown once', async () => {
    const device = newName()
    const events = await EventClient.open(server, { offset: 'now', devices: device })
    const { status, json, headers } = await create({ deviceIdentifier: device.toLowerCase(), meta: { room: 'A' } })
    expect(status).toBe(201)
    expect(json).toEqual({ deviceIdentifier: device, secret: expect.stringMatching(/^[\w-]{43}$/) })
    expect(headers.get('location')).toBe(`/api/v1/devices/${device}`)
    expect(headers.get('cache-control')).toBe('no-store')
    expect((await server.get(`/devices/${device}`)).json).toEqual({ deviceIdentifier: device, services: [] })
    expect((await server.get(`/meta/${device}`)).json).toEqual({
      deviceIdentifier: device,
      status: 'offline',
      lastMessage: 0,
      lastConnect: 0,
      numConnects: 0,
      meta: { room: 'A' },
    })
    await events.caughtUp(server)
    expect(events.events[0]).toMatchObject({ type: 'DEVICE_ADD' })
    expect(events.of('META_SET')).toMatchObject([{ meta: { room: 'A' } }])
    const everything = await Promise.all(
      ['/devices?depth=2', '/meta?depth=1', '/health/status'].map((path) => server.get(path)),
    )
    for (const { text } of everything) expect(text).not.toContain(secretIn(json))
    await events.close()
  })

  test('have unique names', async () => {
    const device = newName()
    await create({ deviceIdentifier: device })
    for (const deviceIdentifier of [device, device.toLowerCase()]) {
      const { status, json } = await create({ deviceIdentifier })
      expect([status, json]).toEqual([409, { error: expect.any(String) }])
    }
    const both = await Promise.all(Array.from({ length: 5 }, () => create({ deviceIdentifier: `${device}-RACE` })))
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409])
  })

  test('have a token, which the client or the server chooses, which is shown once, and which is unique', async () => {
    const [device, other] = [newName(), newName()]
    for (const each of [device, other]) await create({ deviceIdentifier: each })
    const setToken = (of: string, token?: string) =>
      server.ask(`/devices/${of}/token`, { method: 'POST', ...(token !== undefined && { body: { token } }) })
    const given = `${device}-TOKEN-1`
    expect((await setToken(device, given)).json).toEqual({ deviceIdentifier: device, token: given })
    expect((await setToken(device, given)).status).toBe(200)
    expect((await setToken(other, given)).status).toBe(409)
    const made = await setToken(device)
    expect(made.headers.get('cache-control')).toBe('no-store')
    expect(made.json).toEqual({ deviceIdentifier: device, token: expect.stringMatching(/^[\w-]{43}$/) })
    expect((await setToken(other, given)).status).toBe(200)
    await remove(other)
    expect((await setToken(device, given)).status).toBe(200)
    for (const wrong of ['x'.repeat(15), 'x'.repeat(65), 'with a space in it', 'ÄÖÜ'.repeat(6)]) {
      expect((await setToken(device, wrong)).status).toBe(400)
    }
    expect((await setToken('DEVICE-9999', given)).status).toBe(404)
  })

  test('are disconnected when a new secret replaces the old one', async () => {
    const device = newName()
    const first = secretIn((await create({ deviceIdentifier: device })).json)
    const link = await LinkClient.open(server, 'json')
    const readConnection = async () => (await server.get(`/devices/${device}/connection`)).json
    expect(await readConnection()).toEqual({ protocol: null })
    await link.hello(device, sensor)
    expect(await readConnection()).toEqual({ protocol: 'websocket' })
    const other = await LinkClient.open(server, 'json')
    await other.hello(newName(), sensor)
    const { status, json, headers } = await rotate(device)
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(json).toEqual({ deviceIdentifier: device, secret: expect.stringMatching(/^[\w-]{43}$/) })
    expect(secretIn(json)).not.toBe(first)
    expect((await link.closed()).code).toBe(4401)
    expect(secretIn((await rotate(device)).json)).not.toBe(secretIn(json))
    await other.hello(newName(), sensor)
    await other.close()
    expect((await rotate('NOBODY')).status).toBe(404)
  })

  test('are gone from every list after they are deleted, with an event', async () => {
    const device = newName()
    const service = `only-${device}`
    const link = await LinkClient.open(server, 'json')
    const declared = [{ serviceIdentifier: service, properties: [{ propId: 1, type: 'UINT8', value: 1 }] }]
    const { flakeAddress } = await link.hello(device, declared)
    const stays = await link.hello(newName(), sensor)
    const events = await EventClient.open(server)

    expect(await remove(device)).toMatchObject({ status: 204, text: '' })
    expect(await link.take({ type: 'ERROR' })).toMatchObject({ code: 'UNKNOWN_DEVICE', flakeAddress })
    link.send(['U', flakeAddress, 2, 0, [1, 3]])
    expect(await link.take({ type: 'ERROR' })).toMatchObject({ code: 'UNKNOWN_DEVICE', seq: 2 })
    await link.report(stays.flakeAddress, 1, climate, [degrees(1)])
    for (const path of [`/devices/${device}`, `/meta/${device}`, `/services/${service}`]) {
      expect([path, (await server.get(path)).status]).toEqual([path, 404])
    }
    for (const path of ['/devices?depth=2', '/services?depth=2', '/meta']) {
      expect((await server.get(path)).text).not.toContain(`"${device}"`)
    }
    expect((await remove(device)).status).toBe(404)
    await events.caughtUp(server)
    expect(events.of('DEVICE_DELETE')).toMatchObject([{ deviceIdentifier: device }])
    await link.close()
  })

  test.each(['!aDEVICE', 'a=b-c', '&x9', '{}A', 'é', '  A', 'A ', ' AB'])(
    'a name like "%s" is accepted, or refused with 400',
    async (name) => {
      const isName = !['é', '  A', 'A ', ' AB'].includes(name)
      const { status, headers } = await create({ deviceIdentifier: name })
      expect(status).toBe(isName ? 201 : 400)
      const path = `/devices/${encodeURIComponent(name)}`
      expect((await server.get(path)).status).toBe(isName ? 200 : 404)
      if (!isName) return
      const located = (headers.get('location') ?? '').replace('/api/v1', '')
      expect((await server.get(located)).json).toMatchObject({ deviceIdentifier: name.toUpperCase() })
      expect((await server.get(`/devices?deviceIdentifier=${encodeURIComponent(name)}`)).json).toHaveLength(1)
      expect((await remove(encodeURIComponent(name))).status).toBe(204)
    },
  )
})
