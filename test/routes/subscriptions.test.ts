import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { deliveryAddress } from '#actors/delivery/delivery'
import { subscriberAddress } from '#actors/subscriber/state'
import { Problem } from '#model/problem'
import type { Grant } from '#model/scope'
import type { StoredSubscription } from '#model/subscription'
import { pagesOf } from '#test/blackbox/pages'
import { type Answer, everywhere, grantOn, ServerWithUsers, userOf } from '#test/routes/server-with-users'

/** Subscriptions over a real socket: every error in its order, and no data of other users. §2.6, §3.1, §7, contract 5.6. */

/** Subscriptions to each function, as the delivery counts them. */
let count = 0
const deliveries = {
  countOf: () => count,
  backlogOf: () => ({ requests: 0, subscribers: 0 }),
  transport: { state: 'ok' },
} as const

/** User ids are part of their resource names. */
const eve = '2Vb7qYx9Ke'
const bob = '2Vb7qYx9Kb'

const http = await ServerWithUsers.open({ deliveries })
afterAll(() => http.close())

const mayAll = [everywhere({ notifications: ['*'], functions: ['read'], service: ['read'] })]
const first = '7Gm2sXv5Ha'
const second = '7Gm2sXv5Hb'
const unknown = '7Gm2sXv5Hc'
const graph = {
  nodes: [
    { id: 'start', type: 'trigger', on: 'status' },
    { id: 'mail', type: 'email', template: 'words' },
  ],
  edges: [['start', 'mail']],
}

beforeEach(async () => {
  count = 0
  for (const user of [eve, bob]) {
    http.give(user, mayAll)
    await http.ask(subscriberAddress('default', user), { type: 'erase' })
  }
  for (const id of [first, second]) await putFunction(id, { devices: ['A'] })
})

async function putFunction(id: string, binding: object): Promise<void> {
  const put = { type: 'put_function', id, body: { name: 'F', enabled: true, binding, graph }, author: userOf('root') }
  try {
    await http.askTenant({ ...put, isNew: false })
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    await http.askTenant({ ...put, isNew: true })
  }
}

const path = '/notifications/subscribe'
const bodyOf = (fn: string, locale = 'en') => ({ topic: `crn#function:${fn}`, type: 'email', locale })
const post = (user: string, body: unknown) => http.call(user, 'POST', path, body)
const stateOf = (user: string) => http.system.peek(subscriberAddress('default', user))

async function subscribe(user: string, fn: string, locale?: string): Promise<string> {
  const { status, headers } = await post(user, bodyOf(fn, locale))
  expect(status).toBe(201)
  return headers.get('location')?.split('/').at(-1) ?? ''
}

/** Stores a subscription without the API. */
async function recordOnly(
  user: string,
  more: Partial<StoredSubscription> & { id: string; function: string },
): Promise<void> {
  const rest = { type: 'email', locale: 'en', createdBy: userOf(user), createdAt: 1, origin: '' }
  await http.ask(subscriberAddress('default', user), { type: 'subscribe', subscription: { ...rest, ...more }, from: 0 })
}

/** The answer without its time and request id. */
const visible = ({ status, text, headers }: Answer) => [
  status,
  text,
  [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date'),
]

describe('errors are checked in order, and the first one is answered', () => {
  interface Asking {
    grants: Grant[]
    body: Record<string, unknown>
    contentType?: string
    /** A header names the caller. */
    isUnknown?: true
  }
  type Fault = readonly [name: string, answer: readonly [number, unknown], make: (asking: Asking) => unknown]
  const message = (text: string) => [400, { message: text }] as const
  const withPermissions = (asking: Asking, change: (before: Grant['permissions']) => Grant['permissions']) => {
    asking.grants = asking.grants.map((each) => ({ ...each, permissions: change(each.permissions) }))
  }
  const invalid = { path: 'locale', message: expect.stringContaining('locale') }
  const faults: readonly Fault[] = [
    ['unknown', [401, { error: 'Unauthorized' }], (asking) => Object.assign(asking, { isUnknown: true })],
    [
      'no right to subscribe',
      [403, undefined],
      (asking) => withPermissions(asking, (all) => ({ ...all, notifications: ['read', 'update', 'delete'] })),
    ],
    [
      'a text that is not JSON',
      [415, { error: 'Unsupported Media Type' }],
      (asking) => Object.assign(asking, { contentType: 'text/plain' }),
    ],
    [
      'an invalid body',
      [400, { error: 'Validation Error', details: [invalid] }],
      ({ body }) => Object.assign(body, { locale: 'english' }),
    ],
    [
      'a transport without delivery',
      message('apn is not delivered yet; only email is'),
      ({ body }) => Object.assign(body, { type: 'apn' }),
    ],
    [
      'an unknown function',
      message('the topic is not a function of this tenant'),
      ({ body }) => Object.assign(body, { topic: `crn#function:${unknown}` }),
    ],
    [
      'a function bound to devices that the user may not read',
      [403, undefined],
      (asking) => withPermissions(asking, ({ notifications = [] }) => ({ notifications })),
    ],
    ['an existing subscription', [409, undefined], () => recordOnly(eve, { id: '9Pw3tKc8La', function: first })],
    [
      'too many subscriptions to the function',
      message('a function has at most 10000 subscriptions'),
      () => {
        count = 10_000
      },
    ],
    [
      'too many subscriptions of the user',
      message('a user has at most 100 subscriptions'),
      async () => {
        for (let index = stateOf(eve).subscriptions.length; index < 100; index++) {
          const two = 'abcdefghij'
          const end = `${two[Math.floor(index / 10)]}${two[index % 10]}`
          await recordOnly(eve, { id: `9Pw3tKc8${end}`, function: `7Gm2sXv5${end}` })
        }
      },
    ],
  ]

  async function answered(...chosen: readonly Fault[]) {
    const asking: Asking = { grants: structuredClone(mayAll), body: bodyOf(first) }
    for (const [, , make] of chosen) await make(asking)
    http.give(eve, asking.grants)
    const { isUnknown, contentType, body } = asking
    const headers = contentType ? { 'Content-Type': contentType } : undefined
    const before = stateOf(eve).subscriptions.length
    const answer = await http.call(isUnknown ? 'unknown' : eve, 'POST', path, body, headers)
    if (answer.text === '') expect(answer.headers.get('content-length')).toBe('0')
    expect(stateOf(eve).subscriptions.length).toBe(before)
    return [answer.status, answer.json]
  }

  test.each(faults)('%s is answered with its error', async (...fault) => {
    expect(await answered(fault)).toEqual(fault[1])
  })

  const pairs = faults.flatMap((earlier, index) => faults.slice(index + 1).map((later) => [earlier, later] as const))
  test.each(pairs.map((pair) => [pair[0][0], pair[1][0], pair] as const))(
    '%s is answered before %s',
    async (_, __, pair) => {
      expect(await answered(...pair)).toEqual(pair[0][1])
    },
  )
})

test.each([
  '',
  'x',
  first,
  `crn#function:${first}x`.repeat(40),
  `crn#function:${unknown}`,
  `crn#alarm:${first}`,
  `crn#device:default/A`,
  `crn#function:default/${first}`,
])('topic %j is refused as unknown in this tenant', async (topic) => {
  const { status, json } = await post(eve, { ...bodyOf(first), topic })
  expect([status, json]).toEqual([400, { message: 'the topic is not a function of this tenant' }])
})

describe('a subscriber needs read access to everything that the function is bound to', () => {
  const subscribes = everywhere({ notifications: ['create'] })
  const functions = (...devices: string[]) => grantOn(devices, ['*'], { functions: ['read'] })
  const service = (...devices: string[]) => grantOn(devices, ['x'], { service: ['read'] })
  const group = '5Kd9tVw3Ca'

  test.each<[string, object, Grant[], number]>([
    ['one device', { devices: ['A'] }, [functions('A'), service('A')], 201],
    ['all devices, some in scope', {}, [functions('*'), service('A')], 403],
    ['members of a group', { groups: [group] }, [functions('C'), service('C')], 201],
    ['a member outside the scope', { groups: [group] }, [functions('C'), service('A')], 403],
  ])('%s', async (_, binding, grants, status) => {
    const put = { type: 'put_group', id: group, body: { name: 'G', devices: ['C'] }, author: userOf('root') }
    await http.askTenant({ ...put, isNew: true })
    await putFunction(first, binding)
    http.give(eve, [subscribes, ...grants])
    const answer = await post(eve, bodyOf(first))
    expect([answer.status, stateOf(eve).subscriptions.length]).toEqual([status, status === 201 ? 1 : 0])
    if (status === 403) expect([answer.text, answer.headers.get('content-length')]).toEqual(['', '0'])
  })
})

test('a subscription is created, listed, changed and ended, each with one event', async () => {
  const { entryCount } = http
  await http.ask(deliveryAddress('default', first), { type: 'overflowed', count: 7 })
  const made = await post(eve, bodyOf(first, 'de-CH'))
  const id = made.headers.get('location')?.replace('/api/v1/notifications/subscribe/', '') ?? ''
  expect([made.status, made.json]).toEqual([201, { resourceIdentifier: `crn#subscription:${id}` }])
  expect(id).toMatch(/^[0-9A-HJ-NP-Za-km-z]{9,16}$/)
  const whole = {
    topic: `crn#function:${first}`,
    type: 'email',
    locale: 'de-CH',
    resourceIdentifier: `crn#subscription:${id}`,
    createdBy: userOf(eve),
    createdAt: expect.any(Number),
  }
  expect((await http.call(eve, 'GET', path)).json).toEqual([whole])
  // The user gets mails about later events with the address of this server.
  expect(stateOf(eve).mail.cursors[id]).toBe(7)
  expect(stateOf(eve).subscriptions[0]?.origin).toBe(new URL(http.base).origin)
  await http.ask(deliveryAddress('default', first), { type: 'forget' })

  const set = await http.call(eve, 'PATCH', `${path}/${id}`, { locale: 'fr' })
  expect([set.status, set.json]).toEqual([200, { ...whole, locale: 'fr' }])
  expect((await http.call(eve, 'PATCH', `${path}/${id}`, { locale: 'fr' })).status).toBe(200)
  const ended = await http.call(eve, 'DELETE', `${path}/${id}`)
  expect([ended.status, ended.text]).toEqual([204, ''])
  expect((await http.call(eve, 'GET', path)).json).toEqual([])
  expect(http.entryCount - entryCount).toBe(4)
})

describe('lists', () => {
  test('have the subscriptions of the caller in their order of creation, also in pages', async () => {
    await recordOnly(eve, { id: '9Pw3tKc8Lz', function: first, createdAt: 5 })
    await recordOnly(eve, { id: '9Pw3tKc8La', function: second, createdAt: 12 })
    await recordOnly(bob, { id: '9Pw3tKc8Lb', function: first, createdAt: 7 })
    const namesOf = ({ json }: Answer) =>
      (json as { resourceIdentifier: string }[]).map((each) => each.resourceIdentifier.slice(-10))
    const whole = await http.call(eve, 'GET', path)
    expect(namesOf(whole)).toEqual(['9Pw3tKc8Lz', '9Pw3tKc8La'])
    const pages = await pagesOf((at) => http.call(eve, 'GET', at), `${path}?limit=1`)
    expect(pages.map(namesOf)).toEqual([['9Pw3tKc8Lz'], ['9Pw3tKc8La']])
    for (const { headers } of [whole, ...pages]) {
      expect(headers.get('stream-epoch')).toMatch(/^.+$/)
      expect(headers.get('stream-offset')).toMatch(/^\d+$/)
    }
    expect((await http.call(eve, 'HEAD', path)).headers.get('stream-offset')).toMatch(/^\d+$/)
  })

  test('include subscriptions whose functions the user may no longer read', async () => {
    await subscribe(eve, first)
    http.give(eve, [grantOn(['Z'], ['z'], { notifications: ['read'] })])
    expect((await http.call(eve, 'GET', path)).json).toHaveLength(1)
  })
})

describe('a deleted function', () => {
  const id = '9Pw3tKc8La'

  test('shows no subscriptions, also before they have ended', async () => {
    await recordOnly(eve, { id, function: unknown })
    expect((await http.call(eve, 'GET', path)).json).toEqual([])
    const set = await http.call(eve, 'PATCH', `${path}/${id}`, { locale: 'fr' })
    const ended = await http.call(eve, 'DELETE', `${path}/${id}`)
    expect([set.status, set.text, ended.status, ended.text]).toEqual([404, '', 404, ''])
  })
})

describe('ids', () => {
  const malformed = ['9Pw3tKc8', '9Pw3tKc8Lb9Pw3tKc', '0Pw3tKc8O', '9Pw3tKc8I', '9Pw3tKc8l', '9Pw3tKc8%20', 'crn%23x']
  const free = ['9Pw3tKc8L', '9Pw3tKc8Lb', '9Pw3tKc8Lb9Pw3tK']

  test.each(malformed)('of the form %s are invalid: 400 before other errors', async (id) => {
    for (const [method, body] of [
      ['PATCH', { locale: 'fr' }],
      ['PATCH', { topic: 'x' }],
      ['PATCH'],
      ['DELETE'],
    ] as const) {
      const { status, json } = await http.call(eve, method, `${path}/${id}`, body)
      const { error, details } = json as { error: string; details: { path: string }[] }
      expect([status, error]).toEqual([400, 'Validation Error'])
      expect(details.map((detail) => detail.path)).toEqual(['subscriptionId'])
    }
  })

  test.each(free)('%s with a valid unknown id answers 404 without a text', async (id) => {
    for (const [method, body] of [['PATCH', { locale: 'fr' }], ['DELETE']] as const) {
      const { status, text, headers } = await http.call(eve, method, `${path}/${id}`, body)
      expect([status, text, headers.get('content-length')]).toEqual([404, '', '0'])
    }
  })

  test('of other users are answered like unknown ones', async () => {
    const id = await subscribe(bob, first)
    const before = stateOf(bob).subscriptions
    for (const [method, body] of [['PATCH', { locale: 'fr' }], ['DELETE']] as const) {
      const [ofBob, unknown] = [
        await http.call(eve, method, `${path}/${id}`, body),
        await http.call(eve, method, `${path}/9Pw3tKc8Lb`, body),
      ]
      expect(visible(ofBob)).toEqual(visible(unknown))
      expect(ofBob.status).toBe(404)
    }
    expect(stateOf(bob).subscriptions).toBe(before)
  })
})
