import { type EventEmitter, once } from 'node:events'
import { connectAsync, type IClientOptions, MqttClient } from 'mqtt'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createWebSocketStream, WebSocket } from 'ws'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { certificate, tlsSettings } from '#test/mqtt/tls-files'
import { folderOfSuite } from '#test/temporary-folder'

/** Connects an independent client over each transport. */

const folder = folderOfSuite()
let server: StartedServer
beforeAll(async () => {
  server = await StartedServer.here({ MQTT_PORT: '0', MQTT_TLS_PORT: '0', ...tlsSettings(folder) })
})
afterAll(() => server?.finish())

const places: readonly (readonly [string, () => string])[] = [
  ['TCP', () => `mqtt://127.0.0.1:${server.mqttPorts.plain}`],
  ['TLS', () => `mqtts://localhost:${server.mqttPorts.tls}`],
  ['a websocket', () => `ws://127.0.0.1:${server.port}/mqtt`],
]

async function connect(url: string, options: IClientOptions = {}): Promise<MqttClient> {
  const all = { reconnectPeriod: 0, ca: certificate, ...options }
  if (!url.startsWith('ws:')) return connectAsync(url, all)
  // With the import conditions of these tests, the client would load the wrong build of `ws`.
  const client = new MqttClient(() => createWebSocketStream(new WebSocket(url, ['mqtt'])), all)
  await once(client as unknown as EventEmitter, 'connect')
  return client
}

const services = [{ serviceIdentifier: 'svc', properties: [{ propId: 1, type: 'UINT32' }] }]

describe.each(places)('over %s', (name, url) => {
  test.each([4, 5] as const)('reports of each quality of service are stored in version %s', async (protocolVersion) => {
    const device = `${name.replace(/\W/g, '-').toUpperCase()}-${protocolVersion}`
    const client = await connect(url(), { protocolVersion })
    const messages: { type?: string; flakeAddress?: number }[] = []
    client.on('message', (_, payload) => messages.push(JSON.parse(payload.toString())))
    await client.publishAsync('v1/link', JSON.stringify({ type: 'HELLO', deviceIdentifier: device, services }), {
      qos: 1,
    })
    const { flakeAddress } = messages.find(({ type }) => type === 'WELCOME') ?? {}
    const report = (value: number) =>
      JSON.stringify({ type: 'UPDATE', flakeAddress, serviceIdentifier: 'svc', updates: [{ propId: 1, value }] })
    await Promise.all([1, 2, 3].map((value) => client.publishAsync('v1/link', report(value), { qos: 2 })))
    await Promise.all([4, 5, 6].map((value) => client.publishAsync('v1/link', report(value), { qos: 1 })))
    const readText = async () => (await server.get(`/devices/${device}/services/svc`)).text
    expect(await readText()).toContain('"value":6')
    await client.publishAsync('v1/link', report(7), { qos: 0 })
    await until(async () => (await readText()).includes('"value":7'), 'the report of QoS 0')
    const protocol = async () =>
      ((await server.get(`/devices/${device}/connection`)).json as { protocol: unknown }).protocol
    expect(await protocol()).toBe('mqtt')
    await client.endAsync()
    await until(async () => (await protocol()) === null, 'the end of the connection')
    expect(messages.map(({ type }) => type)).toEqual(['WELCOME'])
  })
})

test('a server that stops sends the reason to clients of version 5.0', async () => {
  const stopped = await StartedServer.here({ MQTT_PORT: '0' })
  const client = await connect(`mqtt://127.0.0.1:${stopped.mqttPorts.plain}`, { protocolVersion: 5 })
  const reason = new Promise((resolve) => client.on('disconnect', ({ reasonCode }) => resolve(reasonCode)))
  await stopped.finish()
  expect(await reason).toBe(0x8b)
})
