import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EventClient, streamHead, ticketOf } from '#test/blackbox/event-client'
import { LinkClient } from '#test/blackbox/link-client'
import { climate, degrees, sensor, shownDegrees } from '#test/blackbox/sensor'
import { StartedServer } from '#test/blackbox/started-server'
import { WebsocketClient } from '#test/blackbox/websocket-client'

/** Contract 4 over real sockets: the handshake, the events, and client messages. */
describe('the event stream', () => {
  let server: StartedServer
  let link: LinkClient
  let names = 0

  beforeAll(async () => {
    server = await StartedServer.here()
    link = await LinkClient.open(server, 'json')
  })
  afterAll(() => server?.finish())

  async function newSensor(services = sensor) {
    const device = `EVENTS-${++names}`
    const { flakeAddress } = await link.hello(device, services)
    return { device, flakeAddress }
  }

  describe('the handshake', () => {
    test('a ticket is valid once', async () => {
      const ticket = await ticketOf(server)
      const first = await EventClient.with(server, ticket).opened()
      expect(await EventClient.with(server, ticket).refused()).toBe(401)
      expect((await first.ping()).offset).toBeGreaterThanOrEqual(0)
      await first.close()
      expect(await EventClient.with(server, ticket).refused()).toBe(401)
    })

    test('a ticket is consumed by its first use, even if the upgrade is refused', async () => {
      const ticket = await ticketOf(server)
      expect(await EventClient.with(server, ticket, { offset: 'tomorrow' }).refused()).toBe(400)
      expect(await EventClient.with(server, ticket).refused()).toBe(401)
    })

    test('tickets are unique, and answers with tickets are not cacheable', async () => {
      const answers = await Promise.all(Array.from({ length: 50 }, () => server.get('/events/ticket')))
      expect(new Set(answers.map(({ text }) => text)).size).toBe(50)
      expect(answers[0]?.headers.get('cache-control')).toBe('no-store')
    })

    test('clients that can send headers need no ticket', async () => {
      for (const headers of [{}, { authorization: 'Bearer none-is-needed-here' }]) {
        const client = await EventClient.with(server, undefined, { offset: 'now' }, headers).opened()
        expect(await client.stream()).toMatchObject({ recovered: true })
        await client.close()
      }
    })

    test.each([
      ['another site', 'https://evil.example'],
      ['null', 'null'],
      ['another port', 'http://127.0.0.1:1'],
      ['another scheme', (port: number) => `https://127.0.0.1:${port}`],
    ])('a page of another origin is refused: %s', async (_, origin) => {
      const headers = { origin: typeof origin === 'string' ? origin : origin(server.port) }
      expect(await EventClient.with(server, undefined, {}, headers).refused()).toBe(403)
      const ticket = await ticketOf(server)
      expect(await EventClient.with(server, ticket, {}, headers).refused()).toBe(403)
      expect(await server.get('/events/ticket', headers)).toMatchObject({ status: 403 })
    })

    test('a page of the same origin is accepted', async () => {
      const headers = { origin: `http://127.0.0.1:${server.port}` }
      await (await EventClient.with(server, await ticketOf(server), {}, headers).opened()).close()
    })

    test.each([
      ['offset=-1'],
      ['offset=1.5'],
      ['offset=tomorrow'],
      ['offset=5'],
      ['epoch=x'],
      [`devices=${encodeURIComponent('A/B')}`],
      ['services=a%2Fb'],
    ])('an invalid query is refused: %s', async (query) => {
      const path = `${server.ws}/events/${await ticketOf(server)}?${query}`
      expect(await new WebsocketClient(path).refused()).toBe(400)
    })
  })

  describe('events', () => {
    test('all events arrive by default, each with type, timestamp and offset', async () => {
      const client = await EventClient.open(server, {})
      const head = await streamHead(server)
      const { device, flakeAddress } = await newSensor()
      await link.report(flakeAddress, 1, climate, [degrees(1)])
      await server.ask(`/meta/${device}`, { method: 'PATCH', body: { room: 'A' } })
      await server.ask(`/meta/${device}/room`, { method: 'DELETE' })
      const schema = { name: 'Climate', properties: {} }
      await server.ask(`/schemas/s-${device}`, { method: 'PUT', body: schema })
      await server.ask(`/schemas/s-${device}`, { method: 'PUT', body: { ...schema, description: 'x' } })
      await server.ask(`/schemas/s-${device}`, { method: 'DELETE' })
      await server.ask(`/devices/${device}`, { method: 'DELETE' })
      await client.caughtUp(server)
      expect(client.events.map(({ type }) => type).sort()).toEqual([
        'DEVICE_ADD',
        'DEVICE_DELETE',
        'DEVICE_DISCOVERY',
        'META_DELETE',
        'META_SET',
        'META_STATUS_CHANGE',
        'OBJECT_UPDATED',
        // Clients that can read only services receive the end of the services.
        'OBJECT_UPDATED',
        'SCHEMA_ADD',
        'SCHEMA_DELETE',
        'SCHEMA_UPDATE',
      ])
      // With access to everything, offsets have no gaps. STREAM comes only if it is requested.
      expect(client.events.map(({ offset }) => offset)).toEqual(
        client.events.map((_, index) => head.offset + 1 + index),
      )
      expect(client.controls.filter(({ type }) => type !== 'PONG')).toEqual([])
      await client.close()
    })

    test('filters select types, devices and services', async () => {
      const two = ['one', 'two'].map((serviceIdentifier) => ({
        serviceIdentifier,
        properties: [{ propId: 1, type: 'UINT8' }],
      }))
      const [a, b] = [await newSensor(two), await newSensor(two)]
      const clients = await Promise.all(
        [
          { types: 'OBJECT_UPDATED' },
          { devices: a.device.toLowerCase() },
          { services: 'two', types: 'OBJECT_UPDATED,META_SET' },
          { devices: `${a.device},${b.device}`, services: 'one', types: 'OBJECT_UPDATED' },
          { devices: 'NOBODY' },
          { types: 'META_SET,NO_SUCH_TYPE' },
          { types: 'NO_SUCH_TYPE' },
        ].map((query) => EventClient.open(server, { ...query, offset: 'now' })),
      )
      for (const [value, { flakeAddress }] of [a, b].entries()) {
        await link.report(flakeAddress, 1, 'one', [{ propId: 1, value: 10 * value + 1 }])
        await link.report(flakeAddress, 2, 'two', [{ propId: 1, value: 10 * value + 2 }])
      }
      await server.ask(`/meta/${b.device}`, { method: 'PATCH', body: { room: 'B' } })
      const received = []
      for (const client of clients) {
        await client.caughtUp(server)
        received.push(
          client.events.map((event) => (event.type === 'OBJECT_UPDATED' ? event.updates[0]?.value : event.type)),
        )
        await client.close()
      }
      expect(received).toEqual([[1, 2, 11, 12], [1, 2], [2, 12, 'META_SET'], [1, 11], [], ['META_SET'], []])
    })

    test('an event is stored before it is sent', async () => {
      const { device, flakeAddress } = await newSensor()
      const client = await EventClient.open(server, { offset: 'now', devices: device })
      for (let value = 1; value <= 20; value++) {
        link.send({
          type: 'UPDATE',
          flakeAddress,
          seq: value,
          serviceIdentifier: climate,
          updates: [degrees(value)],
        })
        while (client.events.length < value) await new Promise((resolve) => setImmediate(resolve))
        const { json, headers } = await server.get(`/devices/${device}/services/${climate}/properties`)
        expect(json).toMatchObject({ 8192: shownDegrees(value) })
        expect(headers.get('content-type')).toMatch(/^application\/json/)
      }
      await link.acknowledged(flakeAddress, 20)
      await client.close()
    })
  })

  describe('client messages', () => {
    test('PING is answered with the position, on filtered sockets too', async () => {
      const client = await EventClient.open(server, { offset: 'now', types: 'SCHEMA_ADD' })
      const before = await client.ping()
      const { flakeAddress } = await newSensor()
      await link.report(flakeAddress, 1, climate, [degrees(1)])
      const head = await streamHead(server)
      await client.caughtUp(server)
      const after = await client.ping()
      expect(after.epoch).toBe(before.epoch)
      expect(after.offset).toBeGreaterThanOrEqual(head.offset)
      expect(client.events).toEqual([])
      await client.close()
    })

    test.each(['{}', '[]', 'null', '7', '"PING"', '{"type":"PONG"}', '{"type":"SUBSCRIBE"}', '["PING"]', ' {"a":1} '])(
      'JSON that is not a PING is ignored: %s',
      async (text) => {
        const client = await EventClient.open(server)
        for (let count = 0; count < 20; count++) client.socket.send(text)
        await client.ping()
        expect(client.controls.map(({ type }) => type)).toEqual(['STREAM', 'PONG'])
        await client.close()
      },
    )
  })
})
