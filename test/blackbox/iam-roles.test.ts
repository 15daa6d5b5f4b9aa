import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EventClient } from '#test/blackbox/event-client'
import { grant, newName, Person, report, startWithIdentity, told } from '#test/blackbox/people'
import type { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** Roles, and what they reach. Contract 2. */
describe('roles', () => {
  let server: StartedServer
  let admin: Person

  beforeAll(async () => {
    server = await startWithIdentity()
    admin = await Person.signIn(server)
  })
  afterAll(() => server?.finish())

  const path = (role: string) => `/iam/roles/${role}`

  test('are put, read, changed and removed', async () => {
    const one = grant({ service: ['read'] }, ['sensor-1'], ['7F1D3A52-0B6C-4F0E-9A55-2B8F5F1C9D01'])
    const entry = {
      name: 'ops',
      // In their normal forms, so that what comes later is found by them.
      grants: [grant({ service: ['read'] }, ['SENSOR-1'], ['7f1d3a52-0b6c-4f0e-9a55-2b8f5f1c9d01'])],
      builtIn: false,
      resourceIdentifier: 'crn#role:default/ops',
    }
    expect(told(await admin.put(path('ops'), { grants: [one] }))).toEqual([200, entry])
    expect(told(await admin.get(path('ops')))).toEqual([200, entry])
    // One grant directly.
    expect(told(await admin.put(path('ops'), one))).toEqual([200, entry])
    expect(told(await admin.put(path('ops'), { grants: [] }))).toEqual([200, { ...entry, grants: [] }])
    expect(told(await admin.delete(path('ops')))).toEqual([204, undefined])
    expect(told(await admin.get(path('ops')))).toEqual([404, { error: 'Not Found' }])
    expect(told(await admin.delete(path('ops')))).toEqual([404, { error: 'Not Found' }])
  })

  test('are listed by name with those that every tenant has', async () => {
    await admin.putRole('bystander', grant({ meta: ['read'] }))
    const { json } = await admin.get('/iam/roles')
    const roles = json as { name: string; builtIn: boolean; grants: unknown }[]
    expect(roles.map(({ name }) => name)).toEqual([...roles.map(({ name }) => name)].sort())
    expect(roles.filter(({ builtIn }) => builtIn).map(({ name }) => name)).toEqual(['admin', 'operator', 'viewer'])
    expect(roles.find(({ name }) => name === 'admin')?.grants).toEqual([grant({ '*': ['*'] })])
    expect(roles.map(({ name }) => name)).toContain('bystander')
  })

  test.each(['admin', 'operator', 'viewer'])('%s is built in: 409', async (role) => {
    const body = { grants: [grant({ service: ['read'] })] }
    expect(told(await admin.put(path(role), body))).toEqual([409, { error: expect.any(String) }])
    expect(told(await admin.delete(path(role)))).toEqual([409, { error: expect.any(String) }])
    expect(told(await admin.get(path(role)))).toMatchObject([200, { builtIn: true }])
  })

  test.each([
    ['no grants', {}, 'grants'],
    ['an unknown resource', { grants: [grant({ secrets: ['read'] })] }, 'grants.0.permissions'],
    ['an unknown action', { grants: [grant({ service: ['write'] })] }, 'grants.0.permissions.service.0'],
    ['no devices', { grants: [{ permissions: {}, services: ['*'] }] }, 'grants.0.devices'],
    ['a device that can’t be one', { grants: [grant({}, ['a/b'])] }, 'grants.0.devices.0'],
    ['a service that can’t be one', { grants: [grant({}, ['*'], ['a b'])] }, 'grants.0.services.0'],
    ['more beside', { grants: [], name: 'other' }, 'name'],
    ['more in a grant', { grants: [{ ...grant({}), effect: 'deny' }] }, 'grants.0'],
    ['one grant directly, with a device that can’t be one', grant({}, ['a/b']), 'devices.0'],
    ['101 grants', { grants: Array.from({ length: 101 }, () => grant({})) }, 'grants'],
    ['a list', [], ''],
  ])('%s: 400 that names it', async (_, body, at) => {
    const answer = await admin.put(path('bad'), body)
    expect([answer.status, (answer.json as { error: string }).error]).toEqual([400, 'Validation Error'])
    const [detail] = (answer.json as { details: { path: string }[] }).details
    expect(at === '' ? detail?.path : detail?.path.slice(0, at.length)).toBe(at)
    expect((await admin.get(path('bad'))).status).toBe(404)
  })

  test.each(['a b', '..%2fadmin', 'x'.repeat(65), '__proto__'])('%s is no role: 404', async (role) => {
    for (const method of ['GET', 'DELETE']) expect((await admin.ask(path(role), { method })).status).toBe(404)
  })

  test('one in use stays: by a user, by a key', async () => {
    const inUse = [409, { error: 'the role is in use' }]
    await admin.putRole('held', grant({ service: ['read'] }))
    const holder = await admin.bring(newName('holder'), ['held'])
    expect(told(await admin.delete(path('held')))).toEqual(inUse)
    const made = await admin.post('/iam/api-keys', { name: 'holds', roles: ['held'] })
    await admin.delete(`/iam/users/${holder.name}`)
    expect(told(await admin.delete(path('held')))).toEqual(inUse)
    await admin.delete(`/iam/api-keys/${(made.json as { id: string }).id}`)
    expect((await admin.delete(path('held'))).status).toBe(204)
  })

  describe('nobody gives beyond his own grants', () => {
    const mine = [
      grant({ users: ['*'], roles: ['*'] }),
      grant({ service: ['read', 'update'], meta: ['*'] }, ['A', 'B'], ['x']),
      grant({ service: ['read'] }, ['A', 'B', 'C'], ['y']),
      grant({ schemas: ['read'] }),
    ]
    let clerk: Person

    beforeAll(async () => {
      await admin.putRole('clerk', ...mine)
      await admin.putRole('over', grant({ functions: ['read'] }))
      clerk = await admin.bringIn('clerk', ['clerk'])
    })

    const rows: [string, object, 200 | 403][] = [
      ['what he has, to the letter', mine[1] as object, 200],
      ['less of it', grant({ service: ['read'] }, ['A'], ['x']), 200],
      ['by two of his grants together', grant({ service: ['read'] }, ['A', 'B'], ['x', 'y']), 200],
      [
        '* of actions where he has all four',
        grant({ meta: ['create', 'read', 'update', 'delete'] }, ['A'], ['x']),
        200,
      ],
      ['nothing', grant({}), 200],
      ['another device', grant({ service: ['read'] }, ['A', 'D'], ['x']), 403],
      ['a device of one grant on a service of another', grant({ service: ['read'] }, ['C'], ['x']), 403],
      ['another action', grant({ service: ['delete'] }, ['A'], ['x']), 403],
      ['another action on the service of another grant', grant({ service: ['update'] }, ['A'], ['y']), 403],
      ['all devices', grant({ service: ['read'] }, ['*'], ['x']), 403],
      ['all services', grant({ service: ['read'] }, ['A'], ['*']), 403],
      ['another resource', grant({ alarms: ['read'] }, ['A'], ['x']), 403],
      ['all resources', grant({ '*': ['read'] }, ['A'], ['x']), 403],
    ]
    test.each(rows)('%s: %s %i', async (_, given, status) => {
      const role = newName('given')
      const put = await clerk.put(path(role), { grants: [given] })
      expect(told(put)[0]).toBe(status)
      if (status === 403) {
        expect(put.text).toBe('')
        expect((await admin.get(path(role))).status).toBe(404)
      }
      // The same where the role is there, and he gives it to somebody, or to a key.
      await admin.putRole(role, given)
      const created = status === 200 ? 201 : 403
      expect((await clerk.post('/iam/users', { name: newName('user'), roles: [role] })).status).toBe(created)
      expect((await clerk.post('/iam/api-keys', { name: 'k', roles: [role] })).status).toBe(created)
      expect((await clerk.delete(path(newName('none')))).status).toBe(404)
    })

    test('nor changes or removes what goes beyond, not even to less', async () => {
      expect((await clerk.put(path('over'), { grants: [] })).status).toBe(403)
      expect((await clerk.delete(path('over'))).status).toBe(403)
      expect((await clerk.put(path('admin'), { grants: [] })).status).toBe(403)
      expect(told(await admin.get(path('over')))).toMatchObject([200, { grants: [grant({ functions: ['read'] })] }])
    })

    test('he may not make himself more', async () => {
      expect((await clerk.put(path('clerk'), { grants: [...mine, grant({ '*': ['*'] })] })).status).toBe(403)
      expect((await clerk.patch('/iam/users/clerk', { roles: ['clerk', 'admin'] })).status).toBe(403)
    })
  })

  test('putting needs create where it makes one, update where it changes one', async () => {
    const covered = grant({ meta: ['read'] })
    await admin.putRole('maker', grant({ roles: ['create'] }), covered)
    await admin.putRole('changer', grant({ roles: ['update'] }), covered)
    await admin.putRole('old', covered)
    const maker = await admin.bringIn('maker', ['maker'])
    const changer = await admin.bringIn('changer', ['changer'])
    const put = async (who: Person, role: string) => (await who.put(path(role), { grants: [covered] })).status
    expect([await put(maker, 'new'), await put(maker, 'old')]).toEqual([200, 403])
    expect([await put(changer, 'newer'), await put(changer, 'old')]).toEqual([403, 200])
  })

  describe('what a role reaches', () => {
    const device = async (name: string, value: number): Promise<void> => {
      const { secret } = (await admin.post('/devices', { deviceIdentifier: name })).json as { secret: string }
      await report(server, { name, password: secret }, value)
    }

    test('an edit reaches a token that was given before, and a socket that is open, within a second', async () => {
      await device('NEAR', 1)
      await device('FAR', 2)
      await admin.putRole('near', grant({ service: ['read'], meta: ['read', 'update'] }, ['NEAR']))
      const person = await admin.bringIn(newName('near'), ['near'])
      const socket = await EventClient.open(server, { offset: 'now' }, person)
      const seen = async () =>
        ((await person.get('/devices')).json as { deviceIdentifier: string }[]).map((one) => one.deviceIdentifier)
      expect(await seen()).toEqual(['NEAR'])
      expect((await person.get('/devices/FAR')).status).toBe(404)

      const before = performance.now()
      await admin.putRole('near', grant({ service: ['read'], meta: ['read', 'update'] }, ['FAR']))
      await until(() => socket.controls.some(({ type }) => type === 'RESYNC'), 'RESYNC')
      expect(performance.now() - before).toBeLessThan(1_000)
      expect(await seen()).toEqual(['FAR'])
      expect((await person.get('/devices/NEAR')).status).toBe(404)

      await admin.patch('/meta/NEAR', { noted: 1 })
      await admin.patch('/meta/FAR', { noted: 2 })
      await until(() => socket.events.some(({ type }) => type === 'META_SET'), 'META_SET')
      expect(socket.events.filter(({ type }) => type === 'META_SET')).toMatchObject([{ deviceIdentifier: 'FAR' }])
      await socket.close()
    })

    test('a position from before the edit is recovered by nobody; one from behind it is', async () => {
      await admin.putRole('scoped', grant({ service: ['read'], meta: ['read'] }, ['NEAR']))
      const person = await admin.bringIn(newName('scoped'), ['scoped'])
      const first = await EventClient.open(server, { offset: 'now' }, person)
      const position = await first.ping()
      await first.close()
      const again = async (from: { epoch: string; offset: number }) => {
        const socket = await EventClient.open(server, { ...from }, person)
        const { recovered } = await socket.stream()
        await socket.close()
        return recovered
      }
      expect(await again(position)).toBe(true)
      await admin.putRole('scoped', grant({ service: ['read'], meta: ['read'] }, ['NEAR', 'FAR']))
      expect(await again(position)).toBe(false)
      await admin.patch('/meta/NEAR', { noted: 3 })
      const newer = await EventClient.open(server, { offset: 'now' }, person)
      const behind = await newer.ping()
      await newer.close()
      expect(await again(behind)).toBe(true)
    })

    test('whoever is left with nothing to hear is sent away', async () => {
      await admin.putRole('hearer', grant({ service: ['read'] }))
      const person = await admin.bringIn(newName('hearer'), ['hearer'])
      const socket = await EventClient.open(server, { offset: 'now' }, person)
      await admin.putRole('hearer', grant({ users: ['read'] }))
      expect((await socket.closed()).code).toBe(4403)
      expect(await person.isIn()).toBe(true)
    })
  })
})
