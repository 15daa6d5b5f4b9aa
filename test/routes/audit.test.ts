import { afterAll, expect, test } from 'vitest'
import { DpopClient } from '#test/blackbox/dpop-client'
import { pagesOf } from '#test/blackbox/pages'
import { answerOf, basicHeader, grant, SignedInUser, wrongFields } from '#test/blackbox/signed-in-user'
import { RawClient } from '#test/http/raw-client'
import { SignInServer } from '#test/routes/sign-in-server'

/** The audit, as far as it is not the same for all routes (`access.test.ts`). Contract 12. */

interface Row {
  readonly at: number
  readonly user: string
  readonly name: string
  readonly method: string
  readonly path: string
  readonly resourceIdentifier?: string
  readonly status: number
}

const http = await SignInServer.open({ server: { isProxyTrusted: true } })
afterAll(() => http.close())
const admin = await SignedInUser.signIn(http)
await admin.post('/iam/tenants', { tenantIdentifier: 'acme', name: 'Acme' })
/** Administers tenant `acme`. */
const ona = await admin.bringIn('ona', ['admin'], {}, '?tenant=acme')

async function rowsOf(person: SignedInUser, query = ''): Promise<Row[]> {
  const { status, json } = await person.get(`/audit${query}`)
  expect(status).toBe(200)
  return json as Row[]
}

/** The new entries of what `work` does, oldest first: `<name> <method> <path> <status>`. */
async function newRows(person: SignedInUser, work: () => Promise<unknown>): Promise<string[]> {
  const before = (await rowsOf(person)).length
  await work()
  const rows = await rowsOf(person)
  return rows
    .slice(0, rows.length - before)
    .map(({ name, method, path, status }) => `${name} ${method} ${path.slice('/api/v1'.length)} ${status}`)
    .reverse()
}

test('a sign-in belongs to the tenant of its user, also if it fails; a name without a user is not stored', async () => {
  const wrong = { name: 'ona', password: 'wrong horse battery' }
  const work = async () => {
    await http.get('/iam/token', basicHeader(wrong))
    await SignedInUser.signIn(http, ona)
    const client = await DpopClient.signIn(http, ona)
    await client.refresh()
    await client.prove('/auth/token', { method: 'POST', body: { refreshToken: 'acme.wrong' } })
    await http.ask('/iam/signup', { method: 'POST', body: { ...wrong, code: 'x' } })
    await client.prove('/auth/logout', { method: 'POST', body: { refreshToken: client.signedIn.refreshToken } })
  }
  let ofDefault: string[] = []
  const ofAcme = await newRows(ona, async () => {
    ofDefault = await newRows(admin, work)
  })
  expect(ofAcme).toEqual([
    'ona GET /iam/token 401',
    'ona GET /iam/token 200',
    // The challenge of the first proof is no attempt.
    'ona POST /auth/login 200',
    'ona POST /iam/signup 401',
    'ona POST /auth/logout 204',
  ])
  // A refresh that succeeds is no entry, and a refused one is.
  expect(ofDefault).toEqual(['anonymous POST /auth/token 401'])
  const unknown = { name: 'my password', password: 'ona' }
  expect(await newRows(admin, () => http.get('/iam/token', basicHeader(unknown)))).toEqual([
    'anonymous GET /iam/token 401',
  ])
  expect(await rowsOf(admin, '?user=anonymous&limit=1')).toEqual([expect.objectContaining({ name: 'anonymous' })])
  for (const person of [ona, admin]) {
    const { text } = await person.get('/audit')
    expect(text).not.toMatch(/my password|wrong horse|\?/)
  }
})

test('a right password for an e-mail address of users in several tenants is an entry of one tenant', async () => {
  const same = { email: 'same@example.com' }
  const password = 'the same password'
  for (const [name, query] of Object.entries({ sam: '', sue: '?tenant=acme' })) {
    const { code } = (await admin.post(`/iam/users${query}`, { name, roles: [], ...same })).json as { code: string }
    await http.ask('/iam/signup', { method: 'POST', body: { name, code, password } })
  }
  const client = await DpopClient.make(http)
  const logIn = (given: string) => client.logIn({ name: same.email, password: given })
  await logIn('of nobody at all')
  expect(await newRows(ona, () => logIn(password))).toEqual(['sue POST /auth/login 409'])
  expect(await newRows(admin, () => logIn('of nobody at all'))).toEqual(['anonymous POST /auth/login 401'])
})

test('keys and users are found by name and by CRN, newest first, in pages and by time', async () => {
  const made = (await ona.post('/iam/api-keys', { name: 'Reporting', roles: ['admin'] })).json as { key: string }
  const headers = { 'x-api-key': made.key }
  const devices = ['D-1', 'D-2', 'D-3']
  for (const deviceIdentifier of devices) {
    await http.ask('/devices', { method: 'POST', body: { deviceIdentifier }, headers })
    http.pass(1_000)
  }
  const rows = await rowsOf(ona, '?user=reporting')
  expect(rows.map(({ at }) => at)).toEqual(rows.map(({ at }) => at).sort((a, b) => b - a))
  expect(rows).toEqual(
    devices
      .map((device) => ({
        ...{
          at: expect.any(Number),
          user: expect.stringMatching(/^crn#key:/),
          name: 'Reporting',
          address: '127.0.0.1',
        },
        ...{ method: 'POST', path: '/api/v1/devices', resourceIdentifier: `crn#device:acme/${device}`, status: 201 },
      }))
      .reverse(),
  )
  expect(await rowsOf(ona, `?user=${encodeURIComponent(rows[0]?.user ?? '')}`)).toEqual(rows)
  expect(await rowsOf(ona, '?user=crn%23user%3Anobody')).toEqual([])
  const { at = 0 } = rows[1] ?? {}
  expect(await rowsOf(ona, `?user=Reporting&from=${at}`)).toEqual(rows.slice(0, 2))
  expect(await rowsOf(ona, `?user=Reporting&from=-1d&to=${at}`)).toEqual(rows.slice(2))
  expect(wrongFields(await ona.get('/audit?from=5&to=5'))).toEqual(['from'])
  const pages = await pagesOf((path) => ona.get(path), '/audit?limit=2&user=Reporting')
  expect(pages.map(({ json }) => json)).toEqual([rows.slice(0, 2), rows.slice(2)])
})

test('an entry names the resource of its path, also a deleted one, and the address that a proxy reports', async () => {
  await admin.bring('bob', ['viewer'])
  const { resourceIdentifier: bob } = (await admin.get('/iam/users/bob')).json as Row
  await admin.ask('/iam/users/bob', { method: 'DELETE', headers: { 'x-forwarded-for': '203.0.113.9' } })
  await admin.putRole('zone', grant({ meta: ['read'] }))
  await admin.delete('/iam/roles/zone?tenant=acme')
  await admin.delete('/iam/roles/zone')
  const [own, others, deleted] = [
    { path: '/api/v1/iam/roles/zone', resourceIdentifier: 'crn#role:default/zone', status: 204 },
    { path: '/api/v1/iam/roles/zone', resourceIdentifier: 'crn#role:acme/zone', status: 404 },
    { path: '/api/v1/iam/users/bob', resourceIdentifier: bob, address: '203.0.113.9' },
  ].map((row) => expect.objectContaining(row))
  const [first, second, , fourth] = await rowsOf(admin, '?user=root&limit=4')
  expect([first, second, fourth]).toEqual([own, others, deleted])
})

test('a request that is repeated with its Idempotency-Key is one entry', async () => {
  const headers = { 'idempotency-key': 'k-1' }
  const create = (name: string) => admin.ask('/groups', { method: 'POST', body: { name, devices: [] }, headers })
  const rows = await newRows(admin, async () => {
    const made = await create('Hall')
    expect(answerOf(await create('Hall'))).toEqual(answerOf(made))
    await create('Roof')
  })
  expect(rows).toEqual(['root POST /groups 201', 'root POST /groups 422'])
})

test('a change is also an entry if its client does not wait for the answer', async () => {
  const { key } = (await admin.post('/iam/api-keys', { name: 'Hasty', roles: ['admin'] })).json as { key: string }
  const body = '{"name":"Acme"}'
  const head = `Host: a\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`
  new RawClient(http.port).send(`PATCH /api/v1/iam/tenants/acme HTTP/1.1\r\n${head}\r\n\r\n${body}`).socket.end()
  const found = async () => await rowsOf(admin, '?user=Hasty')
  while ((await found()).length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  expect(await found()).toEqual([expect.objectContaining({ method: 'PATCH', status: 200 })])
})

test('only the role admin may read the audit', async () => {
  for (const role of ['operator', 'viewer']) {
    const person = await admin.bringIn(`an-${role}`, [role])
    expect(answerOf(await person.get('/audit'))).toEqual([403, undefined])
  }
  await admin.putRole('auditor', grant({ audit: ['read'] }))
  const auditor = await admin.bringIn('an-auditor', ['auditor'])
  expect((await auditor.get('/audit')).text).toBe((await admin.get('/audit')).text)
})
