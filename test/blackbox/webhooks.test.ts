import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeFunction, pathOf } from '#test/blackbox/notification-calls'
import { climate, temperature } from '#test/blackbox/sensor'
import { report, SignedInUser, startWithIdentity } from '#test/blackbox/signed-in-user'
import type { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { RecordingServer } from '#test/http/recording-server'

/** Webhooks of a real process. `test/notifications` tests every step of a delivery. Contract 12. */

let receiver: RecordingServer
let server: StartedServer

beforeEach(async () => {
  receiver = await RecordingServer.open(() => {})
  server = await startWithIdentity({ WEBHOOK_ALLOW: '127.0.0.1' })
})
afterEach(async () => {
  await server?.finish()
  await receiver.close()
})

test('a server that was killed before the answer sends a webhook again, under its id and with a valid signature', async () => {
  const { received, url } = receiver
  const admin = await SignedInUser.signIn(server)
  const nodes = [
    { id: 'heat', type: 'trigger', on: 'property', serviceIdentifier: climate, propId: temperature },
    { id: 'call', type: 'webhook', url },
  ]
  const fn = await makeFunction(admin, { graph: { nodes, edges: [['heat', 'call']] } })
  const { secret = '' } = (fn as unknown as { graph: { nodes: { secret?: string }[] } }).graph.nodes[1] ?? {}
  await report(server, await admin.makeDevice('OVEN'), 40)
  await until(() => received.length === 1, 'the first attempt')
  await server.kill()
  receiver.answer = (response) => response.writeHead(204).end()
  await server.startAgain()
  await until(() => received.length === 2, 'the second attempt')
  const [first, second] = received.map(({ headers, body }) => ({
    id: headers['webhook-id'],
    message: new Webhook(secret).verify(body, headers as Record<string, string>),
  }))
  expect(second).toEqual(first)
  expect(first?.message).toMatchObject({
    type: 'property.changed',
    data: { function: 'Heat', device: 'OVEN', service: climate, property: '0x2000', value: 40 },
  })
  const again = await SignedInUser.signIn(server)
  const deliveries = async () => (await again.get(`${pathOf(fn)}/deliveries`)).json
  const delivered = [{ id: first?.id, node: 'call', status: 'DELIVERED', httpStatus: 204 }]
  await until(async () => JSON.stringify(await deliveries()).includes('DELIVERED'), 'the result')
  expect(await deliveries()).toMatchObject(delivered)
  expect((await again.get(pathOf(fn))).text).not.toContain(secret)
})
