import { describe, expect, onTestFinished, test } from 'vitest'
import { ConnectionLost, type ConnectOptions, connect, type SocketConstructor } from '#client/client'
import { nextOf } from '#client/requests'
import { until } from '#test/blackbox/until'
import { json, TestFetch } from '#test/client/test-fetch'
import { VirtualTime } from '#test/client/virtual-time'

const url = 'http://server.example'

function clientOf(server: TestFetch, options: ConnectOptions = {}) {
  return connect({ url, fetch: server.fetch, ...options })
}

describe('the Idempotency-Key of a create request', () => {
  const group = { name: 'Hall', devices: ['PUMP-1'] }

  function creator(answers: readonly (Response | Error)[], options: ConnectOptions = {}) {
    const left = [...answers]
    const server = new TestFetch(() => left.shift() ?? json(201, { resourceIdentifier: 'crn#group:1' }))
    const client = clientOf(server, options)
    const create = () => client.call('POST /groups', { body: group }).then(() => 'created', String)
    return { client, server, create, keys: () => server.requests.map(({ headers }) => headers.get('idempotency-key')) }
  }

  test.each([
    ['lost answer', new TypeError('lost')],
    ['503', json(503, { error: 'storage' })],
    ['401', json(401, { error: 'session over' })],
    ['request that still runs', json(409, { error: 'a request with this Idempotency-Key is still running' })],
  ])('stays the same after a %s', async (_, answer) => {
    const { create, keys } = creator([answer])
    expect(await create()).not.toBe('created')
    expect(await create()).toBe('created')
    expect(await create()).toBe('created')
    const [first, second, third] = keys()
    expect(first).toMatch(/^[0-9a-f]{32}$/)
    expect(second).toBe(first)
    expect(third).not.toBe(first)
  })

  test.each([400, 404, 409, 422])('is new after %i', async (status) => {
    const { create, keys } = creator([json(status, { error: 'no' })])
    await create()
    await create()
    expect(keys()[1]).not.toBe(keys()[0])
  })

  test('is new for another body and after ten minutes, and the caller can choose it', async () => {
    const time = new VirtualTime()
    const lost = new TypeError('lost')
    const { client, create, keys } = creator([lost, lost, lost], { now: time.now })
    await create()
    await client.call('POST /groups', { body: { ...group, name: 'Yard' } }).catch(() => {})
    await time.sleep(11 * 60_000)
    await create()
    await client.call('POST /groups', { body: group, idempotencyKey: 'mine' })
    await client.call('POST /groups', { body: group, headers: { 'Idempotency-Key': 'mine too' } })
    expect(new Set(keys()).size).toBe(5)
    expect(keys().slice(3)).toEqual(['mine', 'mine too'])
  })

  test('is not sent with idempotent requests', async () => {
    const server = new TestFetch(() => new TypeError('lost'))
    const client = clientOf(server)
    await client.call('PATCH /groups/:groupId', { parameters: { groupId: '1' }, body: group }).catch(() => {})
    await client.call('POST /groups', { body: group }).catch(() => {})
    expect(server.requests.map(({ headers }) => headers.has('idempotency-key'))).toEqual([false, true])
  })
})

describe('a request without an answer', () => {
  const parameters = { deviceIdentifier: 'PUMP-1', serviceIdentifier: 'pump' }
  const write = 'PUT /devices/:deviceIdentifier/services/:serviceIdentifier/properties'

  test('fails after 30 s, or 120 s if a device has to answer, or the time that the caller sets', async () => {
    const { now, sleep } = new VirtualTime()
    const client = clientOf(new TestFetch(() => undefined), { now, sleep })
    await expect(client.call('GET /devices')).rejects.toThrow('no data for 30 s')
    await expect(client.call(write, { parameters, body: { speed: 1 } })).rejects.toThrow('no data for 120 s')
    await expect(client.call('GET /devices', { silenceMs: 5_000 })).rejects.toThrow('no data for 5 s')
    await expect(client.call('GET /devices')).rejects.toBeInstanceOf(ConnectionLost)
  })

  test('does not fail while a body is uploaded', async () => {
    const time = new VirtualTime()
    const server = new TestFetch(async () => {
      await time.sleep(3_600_000)
      return json(201, { firmware: '1.5.0' })
    })
    const parameters = { project: 'boiler', firmware: '1.5.0' }
    const body = new Blob(['bytes'])
    const client = clientOf(server, { now: time.now, sleep: time.sleep })
    await client.call('PUT /updates/projects/:project/releases/:firmware', { parameters, body })
    expect(time.waits).toEqual([3_600_000])
  })
})

test('the estimated clock of the server is steady, although the dates in answers are whole seconds', async () => {
  const time = new VirtualTime()
  let aheadMs = 10 * 60_000
  const dateHeader = () => ({ date: new Date(time.now() + aheadMs).toUTCString() })
  const client = clientOf(new TestFetch(() => json(200, { status: 'ok' }, dateHeader())), { now: time.now })
  expect(client.now()).toBe(time.now())
  const differences = new Set<number>()
  // The dates are whole seconds, and arrive late.
  for (const lateMs of [0, 400, 999, 0, 1_500, 700]) {
    aheadMs = 10 * 60_000 - lateMs
    await client.call('GET /health')
    differences.add(client.now() - time.now() - 10 * 60_000)
  }
  expect([...differences]).toEqual([0])
  aheadMs = 0
  await client.call('GET /health')
  expect(Math.abs(client.now() - time.now())).toBeLessThanOrEqual(2_000)
})

describe('the path of the next page', () => {
  const nextOfLink = (link: string) => nextOf(new Headers({ link }))

  test.each([
    ['</api/v1/devices?cursor=a>; rel="next"', '/devices?cursor=a'],
    ['<https://fleet.example/api/v1/devices?cursor=a>; rel="next"', '/devices?cursor=a'],
    ['</a/api/v1/b/api/v1/devices?cursor=/api/v1/x>; rel="next"', '/devices?cursor=/api/v1/x'],
    ['</app.css>; rel="preload", </api/v1/meta?cursor=b>; rel="next"', '/meta?cursor=b'],
    ['</app.css>; rel="preload"', undefined],
  ])('in the link %s is %s', (link, path) => {
    expect(nextOfLink(link)).toBe(path)
  })

  test.each(['</devices?cursor=a>; rel="next"', '</devices?of=/api/v1/x>; rel="next"', '<>; rel="next"'])(
    'is an error in the link %s',
    (link) => {
      expect(() => nextOfLink(link)).toThrow(ConnectionLost)
    },
  )

  test('is an error if the page is not a list', async () => {
    const pages = [
      json(200, [{ deviceIdentifier: 'A' }], { link: '</api/v1/devices?cursor=A>; rel="next"' }),
      new Response('<html>Sign in to this network</html>', { headers: { 'content-type': 'text/html' } }),
    ]
    const client = clientOf(new TestFetch(() => pages.shift()))
    const seen: unknown[] = []
    const read = async () => {
      for await (const page of client.pages('GET /devices')) seen.push(...page)
    }
    await expect(read()).rejects.toBeInstanceOf(ConnectionLost)
    expect(seen).toEqual([{ deviceIdentifier: 'A' }])
  })
})

test('the client waits until the time of Retry-After by the clock of the server', async () => {
  const at = 1_790_000_000_000
  const aheadMs = 600_000
  const busy = () =>
    json(503, { error: 'overloaded' }, { 'retry-after': '7', date: new Date(at + aheadMs).toUTCString() })
  const never = class {} as unknown as SocketConstructor
  const client = clientOf(new TestFetch(busy), { WebSocket: never, now: () => at, random: () => 0.5 })
  onTestFinished(() => client.close())
  const { connection } = client.state()
  await until(() => connection.value.nextAttemptAt !== undefined, 'the refusal')
  const { nextAttemptAt = 0, problem } = connection.value
  expect(nextAttemptAt - client.now()).toBe(7_250)
  expect([client.now() - at > aheadMs - 2_000, problem]).toEqual([true, expect.objectContaining({ status: 503 })])
})
