import { afterAll, describe, expect, test } from 'vitest'
import { answerOf, grant, identityOn, SignedInUser } from '#test/blackbox/signed-in-user'
import { type Answer, StartedServer } from '#test/blackbox/started-server'

interface Edited {
  readonly thing: string
  /** Creates a resource and returns its path. */
  readonly make: (admin: SignedInUser) => Promise<string>
  readonly method: 'PUT' | 'PATCH'
  /** Two bodies that differ from each other and from the created one. */
  readonly bodies: readonly [object, object]
}

const alarm = { name: 'Hot', severity: 'info', serviceIdentifier: 'climate', condition: { '>': [{ var: '0x1' }, 1] } }
const graph = { nodes: [{ id: 'a', type: 'trigger', on: 'status' }], edges: [] }
const fn = { name: 'Told', enabled: true, binding: { devices: ['LAMP-1'] }, graph }
const schema = (name: string) => ({ name, properties: {} })
const template = (subject: string) => ({ locales: { en: { subject, text: 'It is.' } } })

async function located(made: Promise<Answer>): Promise<string> {
  const { status, headers } = await made
  expect(status).toBe(201)
  return (headers.get('location') ?? '').replace('/api/v1', '')
}

async function put(admin: SignedInUser, path: string, body: object): Promise<string> {
  expect((await admin.put(path, body)).status).toBe(200)
  return path
}

const edited: readonly Edited[] = [
  {
    thing: 'alarm',
    make: (admin) => located(admin.post('/alarms', alarm)),
    method: 'PUT',
    bodies: [
      { ...alarm, name: 'One' },
      { ...alarm, name: 'Two' },
    ],
  },
  {
    thing: 'group',
    make: (admin) => located(admin.post('/groups', { name: 'Hall', devices: [] })),
    method: 'PATCH',
    bodies: [{ name: 'One' }, { name: 'Two' }],
  },
  {
    thing: 'function',
    make: (admin) => located(admin.post('/functions', fn)),
    method: 'PATCH',
    bodies: [{ name: 'One' }, { name: 'Two' }],
  },
  {
    thing: 'template',
    make: (admin) => put(admin, '/templates/hot', template('Hot')),
    method: 'PUT',
    bodies: [template('One'), template('Two')],
  },
  {
    thing: 'role',
    make: (admin) => put(admin, '/iam/roles/ops', { grants: [grant({ service: ['read'] })] }),
    method: 'PUT',
    bodies: [{ grants: [grant({ meta: ['read'] })] }, { grants: [grant({ alarms: ['read'] })] }],
  },
  {
    thing: 'schema',
    make: (admin) => put(admin, '/schemas/climate', schema('Climate')),
    method: 'PUT',
    bodies: [schema('One'), schema('Two')],
  },
  {
    thing: 'tenant',
    make: (admin) => located(admin.post('/iam/tenants', { tenantIdentifier: 'edited', name: 'Edited' })),
    method: 'PATCH',
    bodies: [{ name: 'One' }, { name: 'Two' }],
  },
  {
    thing: 'user',
    make: (admin) => located(admin.post('/iam/users', { name: 'edited', roles: [] })),
    method: 'PATCH',
    bodies: [{ email: 'one@example.com' }, { email: 'two@example.com' }],
  },
]

const server = await StartedServer.here(identityOn)
afterAll(() => server.finish())
const admin = await SignedInUser.signIn(server)

/** Two users edit the same resource. RFC 9110 §13.1 */
describe('a conditional change succeeds only if the resource is unchanged', () => {
  const changed = [412, { error: 'Precondition Failed' }]

  test.each(edited)('$thing', async ({ make, method, bodies: [one, two] }) => {
    const path = await make(admin)
    const tagNow = async () => (await admin.get(path)).headers.get('etag') ?? ''
    const change = (body: object, headers: Record<string, string>) => admin.ask(path, { method, body, headers })
    const first = await tagNow()
    expect(first).toMatch(/^"[\w-]{22}"$/)
    const unchanged = await admin.ask(path, { headers: { 'if-none-match': first } })
    expect([unchanged.status, unchanged.text, unchanged.headers.get('etag')]).toEqual([304, '', first])

    // Two users read the same state and save at the same time: one of them gets 412.
    const both = await Promise.all([one, two].map((body) => change(body, { 'if-match': first })))
    expect(both.map(({ status }) => status).sort()).toEqual([200, 412])
    const second = await tagNow()
    expect(second).not.toBe(first)
    expect(answerOf(await change(one, { 'if-match': first }))).toEqual(changed)
    expect(answerOf(await change(one, { 'if-none-match': '*' }))).toEqual(changed)
    expect(answerOf(await admin.ask(path, { method: 'DELETE', headers: { 'if-match': first } }))).toEqual(changed)
    expect(await tagNow()).toBe(second)

    // `*`, and one of several tags, as compressing proxies send them.
    expect((await change(one, { 'if-match': '*' })).status).toBe(200)
    expect((await change(two, { 'if-match': `"x", W/${await tagNow()}` })).status).toBe(200)
    const zipped = (await tagNow()).replace(/"$/, '-gzip"')
    expect((await admin.ask(path, { method: 'DELETE', headers: { 'if-match': zipped } })).status).toBe(204)
    expect((await admin.get(path)).status).toBe(404)
  })

  test('the metadata of a device', async () => {
    await admin.post('/devices', { deviceIdentifier: 'LAMP-2', meta: { tags: ['a'] } })
    const path = '/meta/LAMP-2'
    const tagNow = async () => (await admin.get(path)).headers.get('etag') ?? ''
    const first = await tagNow()
    expect(first).toMatch(/^W\/"[\w-]{22}"$/)
    const add = (tag: string) =>
      admin.ask(path, { method: 'PATCH', body: { tags: ['a', tag] }, headers: { 'if-match': first } })
    const both = await Promise.all([add('b'), add('c')])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 412])
    const second = await tagNow()
    expect(second).not.toBe(first)
    const remove = (tag: string) => admin.ask(`${path}/tags`, { method: 'DELETE', headers: { 'if-match': tag } })
    expect(answerOf(await remove(first))).toEqual(changed)
    expect((await remove(second)).status).toBe(204)
  })

  test('If-None-Match: * does not replace an existing resource', async () => {
    const path = '/templates/new'
    const make = () => admin.ask(path, { method: 'PUT', body: template('New'), headers: { 'if-none-match': '*' } })
    expect((await make()).status).toBe(200)
    expect(answerOf(await make())).toEqual(changed)
    const none = { method: 'PUT', body: template('None'), headers: { 'if-match': '*' } }
    expect(answerOf(await admin.ask('/templates/none', none))).toEqual(changed)
    expect((await admin.get('/templates/none')).status).toBe(404)
  })
})
