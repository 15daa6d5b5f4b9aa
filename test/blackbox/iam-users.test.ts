import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EventClient, ticketOf } from '#test/blackbox/event-client'
import {
  type Credentials,
  codeIn,
  grant,
  newName,
  Person,
  readToken,
  root,
  signUp,
  startWithIdentity,
  told,
  wrongFields,
} from '#test/blackbox/people'
import type { StartedServer } from '#test/blackbox/started-server'

/** Users, from invitation to removal. Contract 2. */
describe('users', () => {
  let server: StartedServer
  let admin: Person

  beforeAll(async () => {
    server = await startWithIdentity()
    admin = await Person.signIn(server)
  })
  afterAll(() => server?.finish())

  const invite = (body: object, query = '') => admin.post(`/iam/users${query}`, body)
  const path = (name: string) => `/iam/users/${encodeURIComponent(name)}`
  const signUpWith = (body: object) => server.ask('/iam/signup', { method: 'POST', body })
  const badCode = [401, { error: 'invalid or expired code' }]
  const days = 86_400_000

  describe('an invitation', () => {
    test('is a code, shown once, that makes an account', async () => {
      const [name, before] = [newName('ann'), Date.now()]
      const invited = await invite({ name, email: `${name}@acme.example`, roles: ['viewer', 'operator'] })
      expect(told(invited)).toEqual([
        201,
        {
          name,
          code: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{22}$/),
          expiresAt: expect.any(Number),
          resourceIdentifier: expect.stringMatching(/^crn#user:[1-9A-HJ-NP-Za-km-z]{10}$/),
        },
      ])
      const { expiresAt, resourceIdentifier } = invited.json as { expiresAt: number; resourceIdentifier: string }
      expect(Math.abs(expiresAt - before - 7 * days)).toBeLessThan(60_000)
      expect(invited.headers.get('location')).toBe(`/api/v1/iam/users/${name}`)
      expect(invited.headers.get('cache-control')).toBe('no-store')
      const entry = {
        name,
        email: `${name}@acme.example`,
        roles: ['viewer', 'operator'],
        state: 'invited',
        twoFactor: [],
        createdAt: expect.any(Number),
        resourceIdentifier,
      }
      expect(told(await admin.get(path(name)))).toEqual([200, entry])
      const who = { name, password: 'password of ann' }
      expect(told(await readToken(server, who))).toEqual([401, { error: 'invalid credentials' }])
      await signUp(server, who, codeIn(invited))
      expect(told(await admin.get(path(name)))).toEqual([200, { ...entry, state: 'active' }])
      expect(await (await Person.signIn(server, who)).me()).toMatchObject({ name, roles: ['viewer', 'operator'] })
      expect((await admin.get('/iam/users')).text).not.toContain(codeIn(invited))
    })

    test('without address and roles: there is none, and nothing may be done', async () => {
      const name = newName('bare')
      const person = await admin.bringIn(name, [])
      expect(Object.keys((await admin.get(path(name))).json as object)).not.toContain('email')
      expect(told(await person.get('/devices'))).toEqual([403, undefined])
      expect(await person.me()).toMatchObject({ roles: [], grants: [] })
    })

    test('may last from a minute to a year', async () => {
      for (const expiresIn of [60, 31_536_000]) {
        const before = Date.now()
        const { expiresAt } = (await invite({ name: newName('brief'), roles: [], expiresIn })).json as {
          expiresAt: number
        }
        expect(Math.abs(expiresAt - before - expiresIn * 1000)).toBeLessThan(60_000)
      }
    })

    test.each([
      ['no name', { roles: [] }, 'name'],
      ['no roles', { name: 'x' }, 'roles'],
      ['a colon in the name', { name: 'a:b', roles: [] }, 'name'],
      ['a slash in the name', { name: 'a/b', roles: [] }, 'name'],
      ['a name of 65 characters', { name: 'x'.repeat(65), roles: [] }, 'name'],
      ['a space at its end', { name: 'a ', roles: [] }, 'name'],
      ['a line break in it', { name: 'a\nb', roles: [] }, 'name'],
      ['no address', { name: 'x', roles: [], email: 'nowhere' }, 'email'],
      ['a role that is not there', { name: 'x', roles: ['viewer', 'nosuch'] }, 'roles.1'],
      ['a role that can’t be one', { name: 'x', roles: ['../admin'] }, 'roles.0'],
      ['33 roles', { name: 'x', roles: Array.from({ length: 33 }, (_, index) => `r${index}`) }, 'roles'],
      ['59 seconds', { name: 'x', roles: [], expiresIn: 59 }, 'expiresIn'],
      ['more', { name: 'x', roles: [], password: 'given by the administrator' }, 'password'],
    ])('%s: 400 that names it', async (_, body, at) => {
      const answer = await admin.post('/iam/users', body)
      expect(wrongFields(answer)).toContain(at)
    })
  })

  test('a prototype is no field', async () => {
    const answer = await admin.post('/iam/users', '{"name":"x","roles":[],"__proto__":{"state":"active"}}')
    expect(told(answer)).toEqual([400, { error: 'the body has a key __proto__' }])
  })

  describe('names and addresses', () => {
    test('a name is taken in all tenants, whatever its case and form; an address in its own', async () => {
      await admin.post('/iam/tenants', { tenantIdentifier: 'names', name: 'Names' })
      const email = 'twin@acme.example'
      expect((await invite({ name: 'Ａnne', email, roles: [] })).status).toBe(201)
      for (const query of ['', '?tenant=names']) {
        for (const name of ['anne', 'ANNE', 'Ａnne', 'Anne']) {
          expect(told(await invite({ name, roles: [] }, query))).toEqual([409, { error: 'the name is taken' }])
        }
      }
      expect(told(await invite({ name: 'Twin', email: email.toUpperCase(), roles: [] }))).toEqual([
        409,
        { error: 'the email is taken' },
      ])
      expect((await invite({ name: 'Twin', email, roles: [] }, '?tenant=names')).status).toBe(201)
      expect(told(await admin.get('/iam/users/aNNe'))).toMatchObject([200, { name: 'Ａnne' }])
      // Another tenant's is not there.
      expect((await admin.get('/iam/users/Twin')).status).toBe(404)
      expect((await admin.get('/iam/users/Twin?tenant=names')).status).toBe(200)
      expect((await admin.get('/iam/users/anne?tenant=names')).status).toBe(404)
    })

    test('of ten who come at once one gets it', async () => {
      const name = newName('race')
      const answers = await Promise.all(Array.from({ length: 10 }, () => invite({ name, roles: [] })))
      expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)])
    })

    test('one that is gone is free', async () => {
      const name = newName('again')
      await admin.bring(name, [])
      expect(told(await admin.delete(path(name)))).toEqual([204, undefined])
      expect((await admin.get(path(name))).status).toBe(404)
      expect((await invite({ name, roles: [] })).status).toBe(201)
    })
  })

  describe('signing up', () => {
    test('what is wrong with name or code is not said', async () => {
      const name = newName('code')
      const code = codeIn(await invite({ name, roles: [] }))
      const password = 'long enough to be one'
      const attempts = [
        { name: 'nobody at all', code, password },
        { name, code: `${code.slice(0, -1)}${code.endsWith('1') ? '2' : '1'}`, password },
        { name, code: '', password },
        { name: root.name, code, password },
        { name: 'a:b/', code, password },
        { name, code: code.toLowerCase(), password },
      ]
      for (const body of attempts) expect(told(await signUpWith(body))).toEqual(badCode)
      expect((await signUpWith({ name, code, password })).status).toBe(201)
      expect(told(await signUpWith({ name, code, password }))).toEqual(badCode)
    })

    test.each([
      ['9 characters', '123456789'],
      ['257 characters', 'x'.repeat(257)],
      ['9 that take 18 units', '😀'.repeat(9)],
      ['a half of a character', `long enough \ud83d but broken`],
    ])('a password of %s is refused, and the code stays good', async (_, password) => {
      const name = newName('password')
      const code = codeIn(await invite({ name, roles: [] }))
      expect(wrongFields(await signUpWith({ name, code, password }))).toContain('password')
      for (const good of ['1234567890', '😀'.repeat(10)]) expect([...good].length).toBe(10)
      await signUp(server, { name, password: '😀'.repeat(10) }, code)
    })

    test('a password is the same however a keyboard puts its letters together', async () => {
      const name = newName('accents')
      const code = codeIn(await invite({ name, roles: [] }))
      await signUp(server, { name, password: 'cafe\u0301 au lait' }, code)
      expect((await readToken(server, { name, password: 'caf\u00e9 au lait' })).status).toBe(200)
    })

    test('a fresh code makes the old one void', async () => {
      const name = newName('renewed')
      const first = codeIn(await invite({ name, roles: [] }))
      const renewed = await admin.post(`${path(name)}/code`)
      expect(told(renewed)).toEqual([
        200,
        {
          name,
          code: expect.any(String),
          expiresAt: expect.any(Number),
          resourceIdentifier: expect.stringContaining('crn#user:'),
        },
      ])
      expect(renewed.headers.get('cache-control')).toBe('no-store')
      const password = 'long enough to be one'
      expect(told(await signUpWith({ name, code: first, password }))).toEqual(badCode)
      expect((await signUpWith({ name, code: codeIn(renewed), password })).status).toBe(201)
    })
  })

  describe('a reset', () => {
    test('the old password works until the code is used, which ends every session', async () => {
      const name = newName('reset')
      const person = await admin.bringIn(name, ['viewer'])
      const old: Credentials = { name, password: person.password }
      const code = codeIn(await admin.post(`${path(name)}/code`, {}))
      expect([await person.isIn(), (await readToken(server, old)).status]).toEqual([true, 200])
      const socket = EventClient.with(server, await ticketOf(person))
      await socket.opened()
      const fresh = { name, password: 'another password' }
      await signUp(server, fresh, code)
      expect(told(await person.get('/iam/me'))).toEqual([401, { error: 'session over' }])
      expect((await socket.closed()).code).toBe(4401)
      expect((await readToken(server, old)).status).toBe(401)
      expect((await readToken(server, fresh)).status).toBe(200)
      expect(told(await admin.get(path(name)))).toMatchObject([200, { state: 'active', roles: ['viewer'] }])
    })

    test.each([[{ resetTwoFactor: 'yes' }], [{ reset: true }], [[]]])('%j is no wish', async (body) => {
      const name = newName('wish')
      await invite({ name, roles: [] })
      expect((await admin.post(`${path(name)}/code`, body)).status).toBe(400)
    })
  })

  describe('an edit', () => {
    test('changes what it names, and nothing else', async () => {
      const name = newName('edit')
      await invite({ name, email: `${name}@acme.example`, roles: ['viewer'] })
      const entry = (await admin.get(path(name))).json as object
      const change = (body: object) => admin.patch(path(name), body)
      expect(told(await change({}))).toEqual([200, entry])
      expect(told(await change({ roles: ['operator'] }))).toEqual([200, { ...entry, roles: ['operator'] }])
      const { email: _, ...without } = { ...entry, roles: ['operator'] } as Record<string, unknown>
      expect(told(await change({ email: null }))).toEqual([200, without])
      expect(told(await change({ email: 'new@acme.example' }))).toEqual([
        200,
        { ...without, email: 'new@acme.example' },
      ])
      expect(told(await change({ roles: ['viewer', 'viewer'] }))).toMatchObject([200, { roles: ['viewer'] }])
    })

    test.each([
      [{ name: 'other' }, 'name'],
      [{ state: 'invited' }, 'state'],
      [{ email: '' }, 'email'],
      [{ roles: ['nosuch'] }, 'roles.0'],
      [{ roles: null }, 'roles'],
      [{ twoFactor: [] }, 'twoFactor'],
    ])('%j: 400', async (body, at) => {
      const name = newName('bad')
      await invite({ name, roles: [] })
      expect(wrongFields(await admin.patch(path(name), body))).toContain(at)
    })

    test('roles reach the token that he has', async () => {
      const person = await admin.bringIn(newName('promoted'), [])
      expect((await person.get('/devices')).status).toBe(403)
      await admin.patch(path(person.name), { roles: ['viewer'] })
      expect((await person.get('/devices')).status).toBe(200)
      expect((await person.get('/iam/users')).status).toBe(403)
      await admin.patch(path(person.name), { roles: ['admin'] })
      expect((await person.get('/iam/users')).status).toBe(200)
      await admin.patch(path(person.name), { roles: [] })
      expect((await person.get('/devices')).status).toBe(403)
    })

    test('disabling ends every session at once, and lets in nobody', async () => {
      const person = await admin.bringIn(newName('off'), ['viewer'])
      const socket = EventClient.with(server, await ticketOf(person))
      await socket.opened()
      const ticket = await ticketOf(person)
      expect(told(await admin.patch(path(person.name), { state: 'disabled' }))).toMatchObject([
        200,
        { state: 'disabled' },
      ])
      expect(told(await person.get('/iam/me'))).toEqual([401, { error: 'session over' }])
      expect((await socket.closed()).code).toBe(4401)
      expect(await EventClient.with(server, ticket).refused()).toBe(401)
      expect(told(await readToken(server, person))).toEqual([401, { error: 'invalid credentials' }])
      expect(told(await admin.patch(path(person.name), { state: 'active' }))).toMatchObject([200, { state: 'active' }])
      expect(await person.isIn()).toBe(false)
      expect((await readToken(server, person)).status).toBe(200)
    })

    test('one who never signed up is invited again, and his old code is void', async () => {
      const name = newName('early')
      const code = codeIn(await invite({ name, roles: [] }))
      await admin.patch(path(name), { state: 'disabled' })
      expect(told(await signUpWith({ name, code, password: 'long enough to be one' }))).toEqual(badCode)
      expect(told(await admin.patch(path(name), { state: 'active' }))).toMatchObject([200, { state: 'invited' }])
      expect(told(await signUpWith({ name, code, password: 'long enough to be one' }))).toEqual(badCode)
    })

    test('deleting ends every session at once', async () => {
      const person = await admin.bringIn(newName('gone'), ['viewer'])
      const socket = EventClient.with(server, await ticketOf(person))
      await socket.opened()
      expect(told(await admin.delete(path(person.name)))).toEqual([204, undefined])
      expect(told(await person.get('/iam/me'))).toEqual([401, { error: 'session over' }])
      expect((await socket.closed()).code).toBe(4401)
      expect(told(await admin.delete(path(person.name)))).toEqual([404, { error: 'Not Found' }])
    })
  })

  describe('the last administrator', () => {
    test('stays: removed, disabled or without the role he would lock everybody out', async () => {
      await admin.post('/iam/tenants', { tenantIdentifier: 'locked', name: 'Locked' })
      const query = '?tenant=locked'
      const boss = await admin.bringIn('boss', ['admin'], {}, query)
      const refused = [409, { error: 'the last administrator' }]
      const all = async (asker: Person, of: string) => [
        told(await asker.delete(`/iam/users/boss${of}`)),
        told(await asker.patch(`/iam/users/boss${of}`, { state: 'disabled' })),
        told(await asker.patch(`/iam/users/boss${of}`, { roles: ['viewer'] })),
      ]
      expect(await all(boss, '')).toEqual([refused, refused, refused])
      expect(await all(admin, query)).toEqual([refused, refused, refused])
      // One who is invited can let nobody in yet.
      await admin.post(`/iam/users${query}`, { name: 'deputy', roles: ['admin'] })
      expect(told(await boss.delete('/iam/users/boss'))).toEqual(refused)
      expect((await boss.patch('/iam/users/boss', { email: 'boss@locked.example' })).status).toBe(200)
      await admin.bring('second boss', ['admin'], {}, query)
      expect((await boss.delete('/iam/users/boss')).status).toBe(204)
    })
  })

  test('nobody edits, resets or removes who may more than he', async () => {
    await admin.putRole('desk', grant({ users: ['*'], service: ['read'] }))
    await admin.putRole('reader', grant({ service: ['read'] }))
    const desk = await admin.bringIn('desk', ['desk'])
    await admin.bring('above', ['viewer'])
    await admin.bring('below', ['reader'])
    const actions = (name: string): [string, () => Promise<{ status: number }>][] => [
      ['edit', () => desk.patch(path(name), { email: `${name}@desk.example` })],
      ['disable', () => desk.patch(path(name), { state: 'disabled' })],
      ['reset', () => desk.post(`${path(name)}/code`)],
      ['end sessions', () => desk.delete(`${path(name)}/sessions`)],
      ['remove', () => desk.delete(path(name))],
    ]
    for (const [, act] of actions('above')) expect((await act()).status).toBe(403)
    expect((await desk.patch(path('below'), { roles: ['viewer'] })).status).toBe(403)
    for (const [what, act] of actions('below')) expect([what, (await act()).status < 300]).toEqual([what, true])
    expect(await readToken(server, { name: 'above', password: 'password of above' })).toMatchObject({ status: 200 })
  })

  test('are listed by name, page by page, each once', async () => {
    await admin.post('/iam/tenants', { tenantIdentifier: 'pages', name: 'Pages' })
    const given = ['zoe', 'Adam', 'bob', 'Ärne', 'carl', 'Émile', 'ﷺ'.repeat(20)]
    for (const name of given) await invite({ name, roles: [] }, '?tenant=pages')
    const whole = (await admin.get('/iam/users?tenant=pages')).json as { name: string }[]
    expect(whole.map(({ name }) => name).slice(0, 4)).toEqual(['Adam', 'bob', 'carl', 'zoe'])
    expect(whole.map(({ name }) => name).sort()).toEqual([...given].sort())
    const paged: unknown[] = []
    let next: string | null = '/iam/users?tenant=pages&limit=2'
    for (let pages = 0; next; pages++) {
      expect(pages).toBeLessThan(5)
      const { status, json, headers } = await admin.get(next)
      expect(status).toBe(200)
      paged.push(...(json as unknown[]))
      next = /<\/api\/v1([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? null
    }
    expect(paged).toEqual(whole)
    for (const bad of ['limit=0', 'limit=10001', 'limit=x', 'cursor=*']) {
      expect((await admin.get(`/iam/users?${bad}`)).status).toBe(400)
    }
  })

  test.each(['no one', 'a%3Ab', 'x'.repeat(65), '%00'])('%s is nobody', async (name) => {
    for (const method of ['GET', 'DELETE']) expect((await admin.ask(`/iam/users/${name}`, { method })).status).toBe(404)
  })
})
