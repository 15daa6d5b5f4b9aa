import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { grant, Person, startWithIdentity, told, wrongFields } from '#test/blackbox/people'
import type { Answer, StartedServer } from '#test/blackbox/started-server'

interface Group {
  readonly name: string
  readonly devices: readonly string[]
  readonly resourceIdentifier: string
  readonly createdBy: string
  readonly createdAt: number
  readonly updatedBy: string
  readonly updatedAt: number
}

/** Devices under one name. Contract 5.1. */
describe('groups', () => {
  let server: StartedServer
  let admin: Person
  /** Who may do everything with groups of A and B, and read these two. */
  let clerk: Person

  beforeAll(async () => {
    server = await startWithIdentity()
    admin = await Person.signIn(server)
    await admin.putRole('clerk', grant({ functions: ['*'], service: ['read'] }, ['A', 'B']))
    clerk = await admin.bringIn('clerk', ['clerk'])
  })
  afterAll(() => server?.finish())

  const unknown = [404, { error: 'Not Found' }]
  const idOf = (group: Group) => group.resourceIdentifier.slice('crn#group:'.length)
  const pathOf = (group: Group) => `/groups/${idOf(group)}`

  async function make(who: Person, devices: readonly string[], name = 'Hall'): Promise<Group> {
    const answer = await who.post('/groups', { name, devices })
    expect(answer.status).toBe(201)
    return answer.json as Group
  }

  const namesIn = (answer: Answer) => (answer.json as Group[]).map(idOf)

  test('are made, read, changed and removed', async () => {
    const answer = await admin.post('/groups', { name: 'Hall 3', devices: ['pump-2', 'PUMP-1', 'Pump-2'] })
    const group = answer.json as Group
    expect(answer.status).toBe(201)
    expect(group).toEqual({
      name: 'Hall 3',
      // In their normal form, each once. None of them is there.
      devices: ['PUMP-1', 'PUMP-2'],
      resourceIdentifier: expect.stringMatching(/^crn#group:[0-9A-HJ-NP-Za-km-z]{10}$/),
      createdBy: admin.claims.sub,
      createdAt: expect.any(Number),
      updatedBy: admin.claims.sub,
      updatedAt: group.createdAt,
    })
    expect(answer.headers.get('location')).toBe(`/api/v1${pathOf(group)}`)
    expect(told(await admin.get(pathOf(group)))).toEqual([200, group])
    const changed = await admin.patch(pathOf(group), { name: 'Hall 4' })
    expect(told(changed)).toEqual([200, { ...group, name: 'Hall 4', updatedAt: expect.any(Number) }])
    expect(told(await admin.patch(pathOf(group), { devices: [] }))).toMatchObject([
      200,
      { name: 'Hall 4', devices: [] },
    ])
    const before = await admin.get(pathOf(group))
    expect(told(await admin.patch(pathOf(group), {}))).toEqual(told(before))
    expect(told(await admin.delete(pathOf(group)))).toEqual([204, undefined])
    for (const gone of [admin.get(pathOf(group)), admin.delete(pathOf(group)), admin.patch(pathOf(group), {})]) {
      expect(told(await gone)).toEqual(unknown)
    }
  })

  test('say who changed them last', async () => {
    const group = await make(clerk, ['A'])
    const changed = (await admin.patch(pathOf(group), { devices: ['A', 'B'] })).json as Group
    expect([changed.createdBy, changed.updatedBy]).toEqual([clerk.claims.sub, admin.claims.sub])
    await admin.delete(pathOf(group))
  })

  test.each([
    ['no name', { devices: [] }, 'name'],
    ['an empty name', { name: '', devices: [] }, 'name'],
    ['a name too long', { name: 'x'.repeat(129), devices: [] }, 'name'],
    ['a name of two lines', { name: 'a\nb', devices: [] }, 'name'],
    ['no devices', { name: 'x' }, 'devices'],
    ['a device that is none', { name: 'x', devices: ['A', 'a/b'] }, 'devices.1'],
    ['any device', { name: 'x', devices: ['*'] }, 'devices.0'],
    ['too many devices', { name: 'x', devices: Array.from({ length: 10_001 }, (_, index) => `D${index}`) }, 'devices'],
    ['more beside', { name: 'x', devices: [], groups: [] }, 'groups'],
  ])('with %s are refused', async (_, body, path) => {
    expect(wrongFields(await admin.post('/groups', body))).toContain(path)
  })

  test('may hold ten thousand devices', async () => {
    const devices = Array.from({ length: 10_000 }, (_, index) => `D-${10_000 + index}`)
    const group = await make(admin, devices)
    expect(((await admin.get(pathOf(group))).json as Group).devices).toEqual(devices)
    await admin.delete(pathOf(group))
  })

  test.each(['x', '0'.repeat(10), '%20', 'crn%23group:2Vb7qYx9Kd'])('%s is no group: 404', async (id) => {
    for (const method of ['GET', 'DELETE']) expect((await admin.ask(`/groups/${id}`, { method })).status).toBe(404)
  })

  test('are listed by their ids, whole and page by page', async () => {
    const made = [await make(admin, ['A']), await make(admin, ['B']), await make(admin, ['C'])]
    const ids = made.map(idOf).sort()
    expect(namesIn(await admin.get('/groups'))).toEqual(ids)
    const seen: string[] = []
    for (let path: string | undefined = '/groups?limit=2'; path; ) {
      const answer: Answer = await admin.get(path)
      seen.push(...namesIn(answer))
      path = /<\/api\/v1([^>]*)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1]
    }
    expect(seen).toEqual(ids)
    for (const group of made) await admin.delete(pathOf(group))
  })

  describe('with a device outside of his reach', () => {
    test('are not there for him: not in lists, not by id, not to be changed or removed', async () => {
      const [inside, across, empty] = [
        await make(admin, ['A', 'B']),
        await make(admin, ['B', 'C']),
        await make(admin, []),
      ]
      expect(namesIn(await clerk.get('/groups'))).toEqual([inside, empty].map(idOf).sort())
      expect(namesIn(await clerk.get('/groups?limit=5'))).toEqual([inside, empty].map(idOf).sort())
      expect(told(await clerk.get(pathOf(inside)))).toEqual([200, inside])
      expect(told(await clerk.get(pathOf(across)))).toEqual(unknown)
      expect(told(await clerk.patch(pathOf(across), { devices: ['B'] }))).toEqual(unknown)
      expect(told(await clerk.delete(pathOf(across)))).toEqual(unknown)
      expect(told(await admin.get(pathOf(across)))).toEqual([200, across])
      for (const group of [inside, across, empty]) await admin.delete(pathOf(group))
    })

    test('are not made, as if there could be no such device', async () => {
      expect(told(await clerk.post('/groups', { name: 'x', devices: ['A', 'C'] }))).toEqual(unknown)
      const group = await make(clerk, ['A'])
      expect(told(await clerk.patch(pathOf(group), { devices: ['A', 'C'] }))).toEqual(unknown)
      expect(told(await admin.get(pathOf(group)))).toEqual([200, group])
      await admin.delete(pathOf(group))
    })

    test('are not made of devices that he may not read, whatever he may do with groups', async () => {
      await admin.putRole('blind', grant({ functions: ['*'] }), grant({ service: ['read'] }, ['A']))
      const blind = await admin.bringIn('blind', ['blind'])
      expect(told(await blind.post('/groups', { name: 'x', devices: ['A', 'B'] }))).toEqual(unknown)
      const group = await make(blind, ['A'])
      const across = await make(admin, ['A', 'B'])
      // He sees it, and may leave nothing in it that he may not read.
      expect(told(await blind.get(pathOf(across)))).toEqual([200, across])
      expect(told(await blind.patch(pathOf(across), { name: 'y' }))).toEqual(unknown)
      expect((await blind.patch(pathOf(across), { devices: ['A'] })).status).toBe(200)
      for (const one of [group, across]) expect((await blind.delete(pathOf(one))).status).toBe(204)
    })
  })

  test('of another tenant are not there', async () => {
    await admin.post('/iam/tenants', { tenantIdentifier: 'acme', name: 'Acme' })
    const owner = await admin.bringIn('owner', ['admin'], {}, '?tenant=acme')
    const group = await make(admin, ['A'])
    expect(told(await owner.get(pathOf(group)))).toEqual(unknown)
    expect(told(await owner.get('/groups'))).toEqual([200, []])
    await admin.delete(pathOf(group))
  })

  test('are as they were after the server was killed', async () => {
    const kept = await make(admin, ['A', 'B'], 'Kept')
    const gone = await make(admin, ['A'], 'Gone')
    const changed = (await admin.patch(pathOf(kept), { devices: ['B'] })).json as Group
    await admin.delete(pathOf(gone))
    await server.kill()
    await server.startAgain()
    expect(told(await admin.get('/groups'))).toEqual([200, [changed]])
    await admin.delete(pathOf(kept))
  })
})
