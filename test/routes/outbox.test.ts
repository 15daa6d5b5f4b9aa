import { afterAll, expect, test } from 'vitest'
import { outboxAddress } from '#actors/outbox/outbox'
import type { Grant } from '#model/scope'
import { everywhere, ServerWithUsers } from '#test/routes/server-with-users'

/** Mail counters for administrators. Contract 5.7. */

const deliveries = {
  countOf: () => 0,
  backlogOf: (tenant: string) => ({ requests: tenant === 'default' ? 3 : 0, subscribers: 2 }),
  transport: { state: 'resting', lastError: 'TIMEOUT' },
} as const

const http = await ServerWithUsers.open({
  deliveries,
  mail: { kind: 'smtp', from: 'devices@acme.example', host: 'acme.example', send: async () => {} },
})
afterAll(() => http.close())

const path = '/notifications/outbox'
const everything = { '*': ['*' as const] }

test.each<[string, Grant[], string[], number]>([
  ['the role admin', [everywhere(everything)], ['admin'], 200],
  ['the admin role and others', [everywhere(everything)], ['viewer', 'admin'], 200],
  ['a custom role with every permission', [everywhere(everything)], ['boss'], 403],
  ['operators', [everywhere({ notifications: ['*'] })], ['operator'], 403],
  ['viewers', [everywhere({ notifications: ['*'] })], ['viewer'], 403],
  ['the role without the right', [everywhere({ notifications: ['read'] })], ['admin'], 403],
])('%s: the caller may read the counters, or gets 403', async (_, grants, roles, status) => {
  http.give('eve', grants, roles)
  const answer = await http.call('eve', 'GET', path)
  expect(answer.status).toBe(status)
  if (status === 403) expect(answer.text).toBe('')
})

test('every caller may read the counters when sign-in is off', async () => {
  expect((await http.call('anonymous', 'GET', path)).status).toBe(200)
})

test('the counters show pending, sent and failed mails, without users', async () => {
  http.give('eve', [everywhere(everything)], ['admin'])
  const count = (counted: object) => http.ask(outboxAddress('default'), { type: 'count', ...counted })
  await count({ sent: 5 })
  await count({ digests: 1, digested: 40 })
  await count({ passed: { reason: 'no_template', count: 2 } })
  await count({ passed: { reason: 'forbidden', count: 1 } })
  await count({ passed: { reason: 'no_template', count: 3 } })
  const { status, json, text } = await http.call('eve', 'GET', path)
  const lastAt = expect.any(Number)
  expect([status, json]).toEqual([
    200,
    {
      waiting: { requests: 3, subscribers: 2 },
      sent: 5,
      digests: 1,
      digested: 40,
      failures: [
        { reason: 'forbidden', count: 1, lastAt },
        { reason: 'no_template', count: 5, lastAt },
      ],
      transport: { kind: 'smtp', state: 'resting', lastError: 'TIMEOUT' },
    },
  ])
  expect(text).not.toContain('@')
})

test('a changed value causes a mail, and a mail without a recipient is counted', async () => {
  const whole = await ServerWithUsers.open()
  try {
    const ask = (method: string, to: string, body?: unknown) => whole.call('root', method, to, body)
    const report = (value: number) =>
      ask('POST', '/link', {
        deviceIdentifier: 'A',
        services: [{ serviceIdentifier: 'x', properties: [{ propId: 1, type: 'UINT8' }] }],
        updates: [{ serviceIdentifier: 'x', propId: 1, value }],
      })
    await report(1)
    await ask('PUT', '/templates/words', { locales: { en: { subject: 'S', text: 'T' } } })
    const nodes = [
      { id: 'start', type: 'trigger', on: 'property', serviceIdentifier: 'x', propId: 1 },
      { id: 'mail', type: 'email', template: 'words' },
    ]
    const graph = { nodes, edges: [['start', 'mail']] }
    const made = await ask('POST', '/functions', { name: 'F', binding: { devices: ['A'] }, graph })
    const { resourceIdentifier: topic } = made.json as { resourceIdentifier: string }
    expect((await ask('POST', '/notifications/subscribe', { topic, type: 'email', locale: 'en' })).status).toBe(201)
    await report(2)
    // No user has an address when sign-in is off.
    whole.give('admin', [everywhere(everything)], ['admin'])
    const failures = async () => ((await whole.call('admin', 'GET', path)).json as { failures: unknown }).failures
    await expect
      .poll(failures, { timeout: 4000 })
      .toEqual([{ reason: 'no_address', count: 1, lastAt: expect.any(Number) }])
  } finally {
    await whole.close()
  }
})
