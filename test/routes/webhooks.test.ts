import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { deliveryAddress } from '#actors/delivery/delivery'
import { tenantAddress } from '#actors/tenant/commands'
import type { WebhookNode } from '#model/graph'
import { httpWebhookSender } from '#notifications/webhook-sender'
import { until } from '#test/blackbox/until'
import { ServerWithUsers } from '#test/routes/server-with-users'
import { ManualWorld } from '#test/runtime/manual-world'

/** Functions with webhooks: their secrets, their receivers, and what was sent. Contract 12. */

const http = await ServerWithUsers.open({
  webhookSender: httpWebhookSender({ world: new ManualWorld(), allowed: ['10.0.0.0/8'] }),
})
afterAll(() => http.close())

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const made = expect.stringMatching(/^whsec_[\w+/]{43}=$/)

function bodyOf(...hooks: readonly Partial<WebhookNode>[]) {
  const nodes = hooks.map((hook, place) => ({
    id: `hook${place}`,
    type: 'webhook',
    url: 'https://example.com',
    ...hook,
  }))
  const edges = nodes.map(({ id }) => ['when', id])
  const graph = { nodes: [{ id: 'when', type: 'trigger', on: 'status' }, ...nodes], edges }
  return { name: 'F', binding: { devices: ['A'] }, graph }
}

type Answer = Awaited<ReturnType<ServerWithUsers['call']>>
const secretsIn = ({ json }: Answer) =>
  (json as unknown as ReturnType<typeof bodyOf>).graph.nodes.flatMap((node) =>
    node.type === 'webhook' ? [(node as Partial<WebhookNode>).secret] : [],
  )

async function create(body: object): Promise<{ path: string; answer: Answer }> {
  const answer = await http.call('root', 'POST', '/functions', body)
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)])
  return { path: answer.headers.get('location')?.replace('/api/v1', '') ?? '', answer }
}

const stored = () => [...http.system.peek(tenantAddress('default')).functions.values()]

beforeEach(async () => {
  const { functions } = http.system.peek(tenantAddress('default'))
  for (const id of [...functions.keys()]) await http.askTenant({ type: 'delete_function', id })
})

describe('a secret', () => {
  test('that the server made is shown once, and one that the client chose is not shown', async () => {
    const { path, answer } = await create(bodyOf({}, { secret }))
    expect(secretsIn(answer)).toEqual([made, undefined])
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const read = await http.call('root', 'GET', path)
    expect(secretsIn(read)).toEqual([undefined, undefined])
    const list = await http.call('root', 'GET', '/functions')
    const [own] = secretsIn(answer)
    for (const { text } of [read, list])
      expect([text.includes(own ?? ''), text.includes(secret)]).toEqual([false, false])
    // Nor in clear in the store.
    const inStore = JSON.stringify(stored(), (_, value) => (value instanceof Uint8Array ? Buffer.from(value) : value))
    expect([inStore.includes('whsec_'), inStore.includes(Buffer.from(secret).toString('hex'))]).toEqual([false, false])
  })

  test('stays when the function is changed, unless another one is given', async () => {
    const { path } = await create(bodyOf({}, { secret }))
    const before = stored()[0]?.secrets
    const moved = await http.call('root', 'PATCH', path, {
      graph: bodyOf({ url: 'https://b.example' }, { secret }).graph,
    })
    expect([moved.status, secretsIn(moved)]).toEqual([200, [undefined, undefined]])
    expect(moved.headers.get('cache-control')).not.toBe('no-store')
    expect(stored()[0]?.secrets).toEqual(before)
    const other = 'whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB'
    await http.call('root', 'PATCH', path, { graph: bodyOf({ secret: other }, {}).graph })
    const [first, second] = stored()[0]?.secrets ?? []
    expect(first).not.toEqual(before?.[0])
    expect(second).toEqual(before?.[1])
  })

  test('is made for a node that is new, and removed with its node', async () => {
    const { path } = await create(bodyOf({}))
    const added = await http.call('root', 'PATCH', path, { graph: bodyOf({}, {}).graph })
    expect(secretsIn(added)).toEqual([undefined, made])
    await http.call('root', 'PATCH', path, { graph: bodyOf().graph })
    expect(stored()[0]).not.toHaveProperty('secrets')
  })

  test('is not made again for a repeated change', async () => {
    const { path } = await create(bodyOf({}))
    const { edit } = stored()[0] ?? {}
    const same = await http.call('root', 'PATCH', path, { graph: bodyOf({}).graph })
    expect([same.status, stored()[0]?.edit]).toEqual([200, edit])
  })
})

describe('a receiver', () => {
  const fault = (text: string) => [{ path: 'graph.nodes.1', message: `node "hook0": ${text}` }]
  const tls = 'must begin with https:, except for hosts that WEBHOOK_ALLOW names'
  const isPublic = 'must have a public address; WEBHOOK_ALLOW can name others'

  test.each([
    ['http://example.org:5/', undefined],
    ['http://11.0.0.1', tls],
    ['http://10.0.0.1', undefined],
    ['https://192.168.0.1', isPublic],
    ['https://[::1]', isPublic],
  ])('with the URL %s is accepted, or refused with its error', async (url, text) => {
    const answer = await http.call('root', 'POST', '/functions', bodyOf({ url }))
    expect(answer.status).toBe(text === undefined ? 201 : 400)
    if (text !== undefined) expect(answer.json).toEqual({ error: 'Validation Error', details: fault(text) })
  })
})

describe('deliveries', () => {
  const add = async (id: string, seq: number) => {
    const request = {
      at: 1_000 * seq,
      device: 'A',
      node: 'hook0',
      value: 'offline',
      previous: null,
      cause: { on: 'status' },
    }
    await http.ask(deliveryAddress('default', id), { type: 'webhook', request })
  }

  test('are listed with status and time, the latest first, and without contents', async () => {
    const { path } = await create(bodyOf({}))
    const id = path.split('/').at(-1) ?? ''
    expect((await http.call('root', 'GET', `${path}/deliveries`)).json).toEqual([])
    for (let seq = 1; seq <= 2; seq++) await add(id, seq)
    const answer = await until(async () => {
      const listed = await http.call('root', 'GET', `${path}/deliveries`)
      return !listed.text.includes('WAITING') && listed
    }, 'both deliveries')
    const delivered = { id: expect.stringMatching(/^msg_/), node: 'hook0', status: 'DELIVERED', attempts: 1 }
    expect(answer.json).toEqual([1, 2].map(() => ({ ...delivered, httpStatus: 204, time: expect.any(Number) })))
    expect(answer.text).not.toContain('offline')
  })
})
