import { afterAll, describe, expect, test } from 'vitest'
import { EventClient } from '#test/blackbox/event-client'
import { StartedServer } from '#test/blackbox/started-server'

const server = await StartedServer.here()
afterAll(() => server.finish())

describe('schemas and metadata', () => {
  let names = 0
  const newName = (prefix: string) => `${prefix}-${++names}`

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
          { room: 'A', place: { floor: 1 } },
          { room: 'A', place: { floor: 1 } },
        ],
        [
          { room: null, place: { side: 'left' }, tags: [] },
          { place: { floor: 1, side: 'left' }, tags: [] },
        ],
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
      expect(await metaOf(device)).toEqual({ place: { floor: 1, side: 'left' } })
      await events.caughtUp(server)
      expect(events.of('META_SET').map(({ meta }) => meta)).toEqual(steps.map(([, meta]) => meta))
      expect(events.of('META_DELETE')).toMatchObject([{ key: 'tags' }])
      expect(events.events).toHaveLength(steps.length + 1)
      const short = { deviceIdentifier: device, status: 'offline', lastMessage: 0 }
      expect((await server.get(`/meta?deviceIdentifier=${device}`)).json).toEqual([short])
      expect((await server.get(`/meta/${device}?depth=0`)).json).toEqual(short)
      const whole = (await server.get(`/meta/${device}`)).json
      expect((await server.get(`/meta?depth=1&deviceIdentifier=${device}`)).json).toEqual([whole])
      await events.close()
    })
  })
})
