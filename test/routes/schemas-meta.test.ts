import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EventClient } from '#test/blackbox/event-client'
import { LinkClient } from '#test/blackbox/link-client'
import { sensor } from '#test/blackbox/sensor'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

describe('schemas and metadata', () => {
  let server: StartedServer
  let names = 0
  const newName = (prefix: string) => `${prefix}-${++names}`

  beforeAll(async () => {
    server = await StartedServer.here()
  })
  afterAll(() => server?.finish())

  const listen = (types: string) => EventClient.open(server, { offset: 'now', types })

  /** Contract 3.9. */
  describe('schemas', () => {
    const put = (service: string, body: unknown) => server.ask(`/schemas/${service}`, { method: 'PUT', body })
    const remove = (service: string) => server.ask(`/schemas/${service}`, { method: 'DELETE' })
    const property = { name: 'temperature', type: 'float' }
    const minimal = { name: 'S', properties: {} }

    test('are created, read, changed and removed, each with an event', async () => {
      const events = await listen('SCHEMA_ADD,SCHEMA_UPDATE,SCHEMA_DELETE')
      const service = newName('schema')
      const first = {
        name: 'Climate',
        description: 'A room',
        properties: {
          '0x2000': {
            ...property,
            description: 'Air',
            unit: '°C',
            readonly: true,
            rangeMin: -40,
            rangeMax: 125.5,
            actionable: false,
            group: 'air',
            hint: 'gauge',
            enum: { 0: { name: 'none', description: 'no sensor' }, '-1': { name: 'below' } },
            colour: { of: ['ours', 1] },
          },
          '0x2001': { name: 'log', type: 'string-stream' },
        },
        vendor: 'kept as it came',
      }
      const entry = { serviceIdentifier: service, schema: first }
      expect(await put(service, first)).toMatchObject({ status: 200, json: entry })
      expect((await server.get(`/schemas/${service}`)).json).toEqual(entry)
      expect((await server.get('/schemas')).json).toContainEqual({ serviceIdentifier: service })
      expect((await server.get('/schemas?depth=1')).json).toContainEqual(entry)
      const second = { ...minimal, properties: { '0x2000': property } }
      expect(await put(service, second)).toMatchObject({ status: 200 })
      expect((await server.get(`/schemas/${service}`)).json).toEqual({ serviceIdentifier: service, schema: second })
      expect(await remove(service)).toMatchObject({ status: 204, text: '' })
      expect((await server.get(`/schemas/${service}`)).status).toBe(404)
      expect((await remove(service)).status).toBe(404)
      await events.caughtUp(server)
      expect(events.events).toMatchObject([
        { type: 'SCHEMA_ADD', serviceIdentifier: service, schema: first },
        { type: 'SCHEMA_UPDATE', serviceIdentifier: service, schema: second },
        { type: 'SCHEMA_DELETE', serviceIdentifier: service },
      ])
      await events.close()
    })

    test('that are arrays are refused', async () => {
      const { status, json } = await put('bad', [])
      expect([status, json]).toMatchObject([400, { error: 'Validation Error', details: expect.any(Array) }])
      expect((await server.get('/schemas/bad')).status).toBe(404)
    })
  })

  /** Contract 3.10, RFC 7396. */
  describe('metadata', () => {
    const patch = (device: string, body: unknown, type = 'application/json') =>
      server.ask(`/meta/${device}`, { method: 'PATCH', body, headers: { 'content-type': type } })
    const metaOf = async (device: string) => ((await server.get(`/meta/${device}`)).json as { meta: unknown }).meta

    async function newDevice(): Promise<string> {
      const device = newName('META')
      await server.ask('/devices', { method: 'POST', body: { deviceIdentifier: device } })
      return device
    }

    test('is merged by PATCH, published in full, and removed by key', async () => {
      const device = await newDevice()
      const events = await EventClient.open(server, { offset: 'now', devices: device })
      const steps = [
        [
          { room: 'A', place: { floor: 1, side: 'left' } },
          { room: 'A', place: { floor: 1, side: 'left' } },
        ],
        [{ place: { floor: 2 } }, { room: 'A', place: { floor: 2, side: 'left' } }],
        [
          { place: { side: null }, tags: ['x', { y: null }] },
          { room: 'A', place: { floor: 2 }, tags: ['x', { y: null }] },
        ],
        [
          { room: null, tags: [] },
          { place: { floor: 2 }, tags: [] },
        ],
        [{ place: 'anywhere' }, { place: 'anywhere', tags: [] }],
      ]
      for (const [index, [body, meta]] of steps.entries()) {
        const type = index % 2 === 0 ? 'application/json' : 'application/merge-patch+json'
        const { status, json } = await patch(device, JSON.stringify(body), type)
        expect([status, json]).toMatchObject([200, { deviceIdentifier: device, status: 'offline' }])
        expect((json as { meta: unknown }).meta).toEqual(meta)
        expect(await metaOf(device)).toEqual(meta)
      }
      expect(await server.ask(`/meta/${device}/tags`, { method: 'DELETE' })).toMatchObject({ status: 204, text: '' })
      expect((await server.ask(`/meta/${device}/tags`, { method: 'DELETE' })).status).toBe(404)
      expect((await server.ask(`/meta/${device}/toString`, { method: 'DELETE' })).status).toBe(404)
      expect(await metaOf(device)).toEqual({ place: 'anywhere' })
      await events.caughtUp(server)
      expect(events.of('META_SET').map(({ meta }) => meta)).toEqual(steps.map(([, meta]) => meta))
      expect(events.of('META_DELETE')).toMatchObject([{ key: 'tags' }])
      expect(events.events).toHaveLength(steps.length + 1)
      await events.close()
    })

    test.each([
      ['null', 'null', 400],
      ['larger than metadata', JSON.stringify({ a: 'x'.repeat(65_536) }), 400],
      ['larger than a body', JSON.stringify({ a: 'x'.repeat(1_048_576) }), 413],
    ])('refuses a patch that is %s', async (_, body, expected) => {
      const device = await newDevice()
      expect((await patch(device, body)).status).toBe(expected)
      expect(await metaOf(device)).toEqual({})
    })

    test('status, counts and times follow the links', async () => {
      const device = newName('META')
      const events = await EventClient.open(server, { offset: 'now', devices: device, types: 'META_STATUS_CHANGE' })
      const started = Date.now()
      for (let connects = 1; connects <= 3; connects++) {
        const link = await LinkClient.open(server, 'json')
        await link.hello(device, sensor)
        const { json } = await server.get(`/meta/${device}`)
        expect(json).toMatchObject({ deviceIdentifier: device, status: 'online', numConnects: connects, meta: {} })
        const { lastConnect, lastMessage } = json as { lastConnect: number; lastMessage: number }
        expect(Math.abs(lastConnect - started)).toBeLessThan(60_000)
        expect(lastMessage).toBeGreaterThanOrEqual(lastConnect)
        await link.close()
        await until(() => events.events.length === 2 * connects, 'the device to be published as offline')
      }
      expect(events.of('META_STATUS_CHANGE').map(({ status, numConnects }) => [status, numConnects])).toEqual(
        [1, 2, 3].flatMap((connects) => [
          ['online', connects],
          ['offline', connects],
        ]),
      )
      const short = (await server.get(`/meta?deviceIdentifier=${device}`)).json
      expect(short).toEqual([{ deviceIdentifier: device, status: 'offline', lastMessage: expect.any(Number) }])
      expect((await server.get(`/meta/${device}?depth=0`)).json).toEqual((short as unknown[])[0])
      expect((await server.get(`/meta?depth=1&deviceIdentifier=${device}`)).json).toEqual([
        (await server.get(`/meta/${device}`)).json,
      ])
      await events.close()
    })
  })
})
