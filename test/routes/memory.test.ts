import { afterAll, describe, expect, test } from 'vitest'
import { LinkClient, type Protocol } from '#test/blackbox/link-client'
import { degrees, label, sensor, temperature } from '#test/blackbox/sensor'
import { StartedServer } from '#test/blackbox/started-server'

const services = Array.from({ length: 20 }, (_, index) => ({
  serviceIdentifier: `svc-${index}`,
  properties: [
    { propId: 1, type: 'UINT8-ARRAY' },
    { propId: label, type: 'STRING' },
  ],
}))
const server = await StartedServer.here({ DEVICE_BYTES_MAX: '760000' })
afterAll(() => server.finish())

/** 30 000 small numbers take 240 000 bytes. */
const numbers = Array(30_000).fill(7)
const text = 'x'.repeat(60_000)

/** How each route refuses a device above the limit; `test/actors/memory.test.ts` covers the counting. */
describe('the memory of a device', () => {
  const post = (body: object) => server.ask('/link', { method: 'POST', body })
  const fill = (deviceIdentifier: string, service: number) =>
    post({ deviceIdentifier, updates: [{ serviceIdentifier: `svc-${service}`, propId: 1, value: numbers }] })
  /** The number of services that could be filled. */
  const filled = async (deviceIdentifier: string) => {
    expect(await post({ deviceIdentifier, services, updates: [] })).toMatchObject({ status: 204 })
    for (let count = 0; ; count++) {
      const answer = await fill(deviceIdentifier, count)
      if (answer.status !== 204) return { count, answer }
    }
  }

  test('limits POST /link, which is refused as a whole above DEVICE_BYTES_MAX', async () => {
    const { count, answer } = await filled('FULL')
    expect(count).toBe(3)
    expect([answer.status, answer.text]).toEqual([
      409,
      expect.stringMatching(/"FULL would take \d+ bytes of memory, more than DEVICE_BYTES_MAX, 760000"/),
    ])
    expect(await fill('FULL', 0)).toMatchObject({ status: 204 })
  })

  test.each<Protocol>(['json', 'msgpack'])(
    'limits UPDATE or HELLO without effect on other devices of the link: %s',
    async (protocol) => {
      const link = await LinkClient.open(server, protocol)
      const { flakeAddress: greedy } = await link.hello('GREEDY', services, { session: 'boot' })
      const { flakeAddress: honest } = await link.hello('HONEST', sensor, { session: 'boot' })
      const before = 12
      for (let index = 0; index < before; index++) link.send(['U', greedy, index + 1, index, [label, text]])
      for (let seq = before + 1; seq <= before + 15; seq++) {
        link.send(['U', greedy, seq, 19, [1, numbers]])
        const error = await link.take({ type: 'ERROR', flakeAddress: greedy, seq })
        expect(error).toMatchObject({ code: 'BAD_VALUE', message: expect.stringContaining('DEVICE_BYTES_MAX') })
      }
      await link.report(honest, 1, 'climate', [degrees(1)])
      const more = Array.from({ length: 64 }, (_, index) => ({
        serviceIdentifier: `more-${index}`,
        properties: Array.from({ length: 140 }, (__, propId) => ({ propId, type: 'BOOL' })),
      }))
      const other = await LinkClient.open(server, 'msgpack')
      other.send({ type: 'HELLO', deviceIdentifier: 'GREEDY', services: more, session: 'boot' })
      const error = await other.take({ type: 'ERROR', deviceIdentifier: 'GREEDY' })
      expect(error).toMatchObject({ code: 'BAD_VALUE', message: expect.stringContaining('DEVICE_BYTES_MAX') })
      // The other device is still on its link with its state.
      link.send(['U', greedy, 100, 0, [label, 'short']], ['U', honest, 2, 0, [temperature, 2]])
      await link.take(['A', greedy, 100])
      await link.take(['A', honest, 2])
      expect(await server.get('/devices/GREEDY/services/svc-19/properties')).toMatchObject({ status: 200 })
      expect(await server.ask('/devices/GREEDY', { method: 'DELETE' })).toMatchObject({ status: 204 })
      link.socket.close()
      other.socket.close()
    },
  )
})
