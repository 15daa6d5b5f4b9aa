import { afterEach, expect, test } from 'vitest'
import { type Client, connect, type SocketConstructor } from '#client/client'
import { until } from '#test/blackbox/until'
import { json, TestFetch } from '#test/client/test-fetch'

let client: Client | undefined

afterEach(() => client?.close())

test('the client waits until the time of Retry-After by the clock of the server', async () => {
  const at = 1_790_000_000_000
  const aheadMs = 600_000
  const busy = () =>
    json(503, { error: 'overloaded' }, { 'retry-after': '7', date: new Date(at + aheadMs).toUTCString() })
  const never = class {} as unknown as SocketConstructor
  client = connect({
    url: 'http://server.example',
    fetch: new TestFetch(busy).fetch,
    WebSocket: never,
    now: () => at,
    random: () => 0.5,
  })
  const { connection } = client.state()
  await until(() => connection.value.nextAttemptAt !== undefined, 'the refusal')
  const { nextAttemptAt = 0, problem } = connection.value
  expect(nextAttemptAt - client.now()).toBe(7_250)
  expect([client.now() - at > aheadMs - 2_000, problem]).toEqual([true, expect.objectContaining({ status: 503 })])
})
