import { describe, expect, test } from 'vitest'
import { ConnectionLost, type ConnectOptions, connect } from '#client/client'
import { nextOf } from '#client/requests'
import { AnsweringFetch, json } from '#test/client/answering-fetch'
import { WaitedTime } from '#test/client/waited-time'

const url = 'http://server.example'

/** A client whose server is the test. */
function clientOf(server: AnsweringFetch, options: ConnectOptions = {}) {
  return connect({ url, fetch: server.fetch, ...options })
}

describe('what makes something', () => {
  const made = { name: 'Hall', devices: ['PUMP-1'] }

  function pressing(answers: readonly (Response | Error)[], options: ConnectOptions = {}) {
    const left = [...answers]
    const server = new AnsweringFetch(() => left.shift() ?? json(201, { resourceIdentifier: 'crn#group:1' }))
    const client = clientOf(server, options)
    const press = () => client.call('POST /groups', { body: made }).then(() => 'made', String)
    return { client, server, press, keys: () => server.asked.map(({ headers }) => headers.get('idempotency-key')) }
  }

  test.each([
    ['whose answer is lost', new TypeError('lost')],
    ['that was not possible', json(503, { error: 'storage' })],
    ['that is signed out', json(401, { error: 'nobody' })],
    ['that still runs', json(409, { error: 'a request with this Idempotency-Key is still running' })],
  ])('is, where it is asked for again, the same one %s', async (_, answer) => {
    const { press, keys } = pressing([answer])
    expect(await press()).not.toBe('made')
    expect(await press()).toBe('made')
    expect(await press()).toBe('made')
    const [first, second, third] = keys()
    expect(first).toMatch(/^[0-9a-f]{32}$/)
    expect(second).toBe(first)
    expect(third).not.toBe(first)
  })

  test.each([400, 404, 409, 422])('is another one behind a refusal with %i', async (status) => {
    const { press, keys } = pressing([json(status, { error: 'no' })])
    await press()
    await press()
    expect(keys()[1]).not.toBe(keys()[0])
  })

  test('is another one with another body, later, or under a key of one’s own', async () => {
    const time = new WaitedTime()
    const lost = new TypeError('lost')
    const { client, press, keys } = pressing([lost, lost, lost], { now: time.now })
    await press()
    await client.call('POST /groups', { body: { ...made, name: 'Yard' } }).catch(() => {})
    await time.sleep(11 * 60_000)
    await press()
    await client.call('POST /groups', { body: made, idempotencyKey: 'mine' })
    await client.call('POST /groups', { body: made, headers: { 'Idempotency-Key': 'mine too' } })
    expect(new Set(keys()).size).toBe(5)
    expect(keys().slice(3)).toEqual(['mine', 'mine too'])
  })

  test('alone is sent so: what may be done twice is', async () => {
    const server = new AnsweringFetch(() => new TypeError('lost'))
    const client = clientOf(server)
    await client.call('PATCH /groups/:groupId', { parameters: { groupId: '1' }, body: made }).catch(() => {})
    await client.call('POST /groups', { body: made }).catch(() => {})
    expect(server.asked.map(({ headers }) => headers.has('idempotency-key'))).toEqual([false, true])
  })
})

describe('a server that says nothing', () => {
  const parameters = { deviceIdentifier: 'PUMP-1', serviceIdentifier: 'pump' }
  const write = 'PUT /devices/:deviceIdentifier/services/:serviceIdentifier/properties'

  test('is given up after half a minute, or when devices had two, or as is said', async () => {
    const { now, sleep } = new WaitedTime()
    const client = clientOf(new AnsweringFetch(() => undefined), { now, sleep })
    await expect(client.call('GET /devices')).rejects.toThrow('no data for 30 s')
    await expect(client.call(write, { parameters, body: { speed: 1 } })).rejects.toThrow('no data for 120 s')
    await expect(client.call('GET /devices', { silenceMs: 5_000 })).rejects.toThrow('no data for 5 s')
    await expect(client.call('GET /devices')).rejects.toBeInstanceOf(ConnectionLost)
  })

  test('is not, while bytes are sent to it', async () => {
    const time = new WaitedTime()
    const server = new AnsweringFetch(async () => {
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

test('the server’s clock is told, and does not jump with the seconds of its answers', async () => {
  const time = new WaitedTime()
  let aheadMs = 10 * 60_000
  const said = () => ({ date: new Date(time.now() + aheadMs).toUTCString() })
  const client = clientOf(new AnsweringFetch(() => json(200, { status: 'ok' }, said())), { now: time.now })
  expect(client.now()).toBe(time.now())
  const differences = new Set<number>()
  // Written up to a second late, in whole ones.
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

describe('the next page', () => {
  const linked = (link: string) => nextOf(new Headers({ link }))

  test.each([
    ['</api/v1/devices?cursor=a>; rel="next"', '/devices?cursor=a'],
    ['<https://fleet.example/api/v1/devices?cursor=a>; rel="next"', '/devices?cursor=a'],
    ['</a/api/v1/b/api/v1/devices?cursor=/api/v1/x>; rel="next"', '/devices?cursor=/api/v1/x'],
    ['</app.css>; rel="preload", </api/v1/meta?cursor=b>; rel="next"', '/meta?cursor=b'],
    ['</app.css>; rel="preload"', undefined],
  ])('of %s is %s', (link, path) => {
    expect(linked(link)).toBe(path)
  })

  test.each(['</devices?cursor=a>; rel="next"', '</devices?of=/api/v1/x>; rel="next"', '<>; rel="next"'])(
    'is none of the API’s at %s, which is no end of the list either',
    (link) => {
      expect(() => linked(link)).toThrow(ConnectionLost)
    },
  )

  test('is a list, or there is none', async () => {
    const pages = [
      json(200, [{ deviceIdentifier: 'A' }], { link: '</api/v1/devices?cursor=A>; rel="next"' }),
      new Response('<html>Sign in to this network</html>', { headers: { 'content-type': 'text/html' } }),
    ]
    const client = clientOf(new AnsweringFetch(() => pages.shift()))
    const seen: unknown[] = []
    const read = async () => {
      for await (const page of client.pages('GET /devices')) seen.push(...page)
    }
    await expect(read()).rejects.toBeInstanceOf(ConnectionLost)
    expect(seen).toEqual([{ deviceIdentifier: 'A' }])
  })
})
