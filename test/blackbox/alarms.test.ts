import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { EventClient } from '#test/blackbox/event-client'
import { type Credentials, grant, Person, report, startWithIdentity, told, wrongFields } from '#test/blackbox/people'
import { climate } from '#test/blackbox/sensor'
import type { Answer, StartedServer } from '#test/blackbox/started-server'
import {
  type Alarm,
  above,
  heardOf,
  idOf,
  makeAlarm,
  makeDevice,
  pathOf,
  rowsOf,
  shortOf,
  untilRows,
  watching,
} from '#test/blackbox/watching'

/** What is watched for on devices. Contract 5.1–5.3. */
describe('alarms', () => {
  let server: StartedServer
  let admin: Person
  /** Who may do everything with alarms of A and B, and read these two. */
  let clerk: Person
  let a: Credentials
  let b: Credentials
  let c: Credentials

  beforeAll(async () => {
    server = await startWithIdentity()
    admin = await Person.signIn(server)
    await admin.putRole('clerk', grant({ alarms: ['*'], service: ['read'] }, ['A', 'B']))
    clerk = await admin.bringIn('clerk', ['clerk'])
    a = await makeDevice(admin, 'A')
    b = await makeDevice(admin, 'B')
    c = await makeDevice(admin, 'C')
  })
  afterEach(async () => {
    for (const alarm of (await admin.get('/alarms')).json as Alarm[]) await admin.delete(pathOf(alarm))
    await untilRows(admin)
  })
  afterAll(() => server?.finish())

  const unknown = [404, { error: 'Not Found' }]
  const namesIn = (answer: Answer) => (answer.json as Alarm[]).map(idOf)

  test('live: made, active, inactive, edited, deleted, and a dashboard hears of it', async () => {
    const dashboard = await EventClient.open(server, { offset: 'now' }, admin)
    await report(server, a, 20)
    const answer = await admin.post('/alarms', watching({ devices: ['a'] }))
    const alarm = answer.json as Alarm
    expect(told(answer)).toEqual([
      201,
      {
        ...watching({ devices: ['A'], forSeconds: 0 }),
        resourceIdentifier: expect.stringMatching(/^crn#alarm:[0-9A-HJ-NP-Za-km-z]{10}$/),
        createdBy: admin.claims.sub,
        createdAt: expect.any(Number),
        updatedBy: admin.claims.sub,
        updatedAt: alarm.createdAt,
      },
    ])
    expect(answer.headers.get('location')).toBe(`/api/v1${pathOf(alarm)}`)
    expect(told(await admin.get(pathOf(alarm)))).toEqual([200, alarm])
    await report(server, b, 40)
    expect(await rowsOf(admin)).toEqual([])
    await report(server, a, 40)
    const [row] = await untilRows(admin, 'A')
    const [event] = dashboard.of('ALARM_STATUS_ACTIVE')
    expect(row).toEqual({
      resourceIdentifier: alarm.resourceIdentifier,
      deviceIdentifier: 'A',
      active: true,
      since: event?.since,
    })
    await report(server, a, 41)
    await report(server, a, 20)
    await untilRows(admin, '(A)')
    const edited = await admin.put(pathOf(alarm), watching({ name: 'Mild', condition: above(10), devices: ['A'] }))
    expect(told(edited)).toMatchObject([200, { name: 'Mild', createdAt: alarm.createdAt }])
    await untilRows(admin, 'A')
    expect(told(await admin.delete(pathOf(alarm)))).toEqual([204, undefined])
    await untilRows(admin)
    for (const gone of [admin.get(pathOf(alarm)), admin.delete(pathOf(alarm)), admin.put(pathOf(alarm), watching())]) {
      expect(told(await gone)).toEqual(unknown)
    }
    expect(await heardOf(dashboard, admin)).toEqual([
      'put Warm',
      'A active',
      'A inactive',
      'put Mild',
      'A active',
      'deleted',
      'A inactive',
    ])
    expect(dashboard.of('ALARM_CONFIG_UPDATE')[0]?.payload).toEqual(alarm)
    await dashboard.close()
  })

  test('are judged when they are made, also where nobody reports', async () => {
    for (const device of [a, b, c]) await report(server, device, 40)
    await makeAlarm(admin)
    await untilRows(admin, 'A', 'B', 'C')
    expect(told(await admin.delete('/devices/C'))).toEqual([204, undefined])
    await untilRows(admin, 'A', 'B')
    c = await makeDevice(admin, 'C')
  })

  test('wait as long as they are to hold', async () => {
    await report(server, a, 40)
    const alarm = await makeAlarm(admin, { forSeconds: 1, devices: ['A'] })
    expect(await rowsOf(admin)).toEqual([])
    const [row] = await untilRows(admin, 'A')
    expect(row?.since).toBeGreaterThanOrEqual(alarm.createdAt + 1_000)
  })

  test('of a condition read names of the schema', async () => {
    await report(server, a, 40)
    expect(
      (await admin.put(`/schemas/${climate}`, { name: 'x', properties: { '0x2000': { name: 'room.warmth' } } })).status,
    ).toBeLessThan(300)
    expect(wrongFields(await admin.post('/alarms', watching({ condition: { '>': [{ var: 'warmth' }, 1] } })))).toEqual([
      'condition.>.0.var',
    ])
    await makeAlarm(admin, { condition: { '>': [{ var: 'room.warmth' }, 30] }, devices: ['A'] })
    await untilRows(admin, 'A')
    await admin.delete(`/schemas/${climate}`)
    expect(shortOf(await rowsOf(admin))).toEqual(['A'])
  })

  test.each([
    ['no condition', { condition: undefined }, 'condition'],
    ['an operator there is not', { condition: { map: [] } }, 'condition'],
    ['one further in', { condition: { and: [{ '>': [{ var: 'x' }, 1] }, { cat: ['a'] }] } }, 'condition.and.1'],
    ['a condition of nothing', { condition: { '==': [1, 1] } }, 'condition'],
    ['no severity', { severity: 'grave' }, 'severity'],
    ['too long', { forSeconds: 604_801 }, 'forSeconds'],
    ['a device that is none', { devices: ['A', 'a/b'] }, 'devices.1'],
    ['a group that is none', { groups: ['crn#alarm:2Vb7qYx9Kd'] }, 'groups.0'],
    ['more beside', { enabled: true }, 'enabled'],
  ])('with %s are refused', async (_, wrong, path) => {
    expect(wrongFields(await admin.post('/alarms', watching(wrong)))).toContain(path)
  })

  test('are listed by their ids, whole and page by page', async () => {
    const made = [await makeAlarm(admin), await makeAlarm(clerk, { devices: ['A'] }), await makeAlarm(admin)]
    const ids = made.map(idOf).sort()
    expect(namesIn(await admin.get('/alarms'))).toEqual(ids)
    const seen: string[] = []
    for (let path: string | undefined = '/alarms?limit=2'; path; ) {
      const answer: Answer = await admin.get(path)
      seen.push(...namesIn(answer))
      path = /<\/api\/v1([^>]*)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1]
    }
    expect(seen).toEqual(ids)
  })

  test('made twice under one key are one', async () => {
    const send = () =>
      admin.ask('/alarms', { method: 'POST', body: watching(), headers: { 'idempotency-key': 'one-alarm' } })
    const first = await send()
    expect(first.status).toBe(201)
    expect(told(await send())).toEqual(told(first))
    expect(namesIn(await admin.get('/alarms'))).toHaveLength(1)
  })

  test('keep a group they name from being removed', async () => {
    const { resourceIdentifier } = (await admin.post('/groups', { name: 'Hall', devices: ['A'] })).json as Alarm
    const alarm = await makeAlarm(admin, { groups: [resourceIdentifier] })
    const group = resourceIdentifier.slice('crn#group:'.length)
    expect((alarm as unknown as { groups: string[] }).groups).toEqual([group])
    expect(told(await admin.delete(`/groups/${group}`))).toEqual([409, { error: 'the group is in use' }])
    await report(server, a, 40)
    await report(server, b, 40)
    await untilRows(admin, 'A')
    await admin.patch(`/groups/${group}`, { devices: ['B'] })
    await untilRows(admin, 'B')
    await admin.delete(pathOf(alarm))
    expect((await admin.delete(`/groups/${group}`)).status).toBe(204)
    expect(told(await admin.post('/alarms', watching({ groups: [group] })))).toEqual(unknown)
  })

  describe('seen by who reaches what they are bound to', () => {
    test('and by nobody else: not in lists, not by id, not to be edited or removed', async () => {
      const group = async (...devices: string[]) =>
        ((await admin.post('/groups', { name: 'x', devices })).json as Alarm).resourceIdentifier
      const [within, beyond] = [await group('A', 'B'), await group('A', 'C')]
      const seen = [
        await makeAlarm(admin, { devices: ['A', 'B'] }),
        await makeAlarm(admin, { groups: [within] }),
        await makeAlarm(admin, { devices: [] }),
      ]
      const hidden = [
        await makeAlarm(admin),
        await makeAlarm(admin, { devices: ['A', 'C'] }),
        await makeAlarm(admin, { devices: ['A'], groups: [beyond] }),
      ]
      expect(namesIn(await clerk.get('/alarms'))).toEqual(seen.map(idOf).sort())
      for (const alarm of seen) expect(told(await clerk.get(pathOf(alarm)))).toEqual([200, alarm])
      for (const alarm of hidden) {
        expect(told(await clerk.get(pathOf(alarm)))).toEqual(unknown)
        expect(told(await clerk.put(pathOf(alarm), watching({ devices: ['A'] })))).toEqual(unknown)
        expect(told(await clerk.delete(pathOf(alarm)))).toEqual(unknown)
        expect(told(await admin.get(pathOf(alarm)))).toEqual([200, alarm])
      }
      for (const wrong of [{}, { devices: ['C'] }, { devices: ['A'], groups: [beyond] }]) {
        expect(told(await clerk.post('/alarms', watching(wrong)))).toEqual(unknown)
        expect(told(await clerk.put(pathOf(seen[0] as Alarm), watching(wrong)))).toEqual(unknown)
      }
    })

    test('rows and events go by the device alone, and come to the same', async () => {
      const dashboard = await EventClient.open(server, { offset: 'now' }, clerk)
      for (const device of [a, b, c]) await report(server, device, 20)
      await makeAlarm(admin)
      for (const device of [a, c]) await report(server, device, 40)
      await untilRows(admin, 'A', 'C')
      expect(shortOf(await rowsOf(clerk))).toEqual(['A'])
      expect(await heardOf(dashboard, clerk)).toEqual(['A active'])
      await dashboard.close()
    })
  })

  describe('the status', () => {
    test('can be asked for some of it, whole and page by page, with its place in the stream', async () => {
      for (const device of [a, b, c]) await report(server, device, 40)
      const alarms = [await makeAlarm(admin), await makeAlarm(admin, { condition: above(35) })]
      await untilRows(admin, 'A', 'B', 'C', 'A', 'B', 'C')
      await report(server, b, 32)
      const whole = await admin.get('/alarms/status')
      expect([whole.headers.get('stream-epoch'), Number(whole.headers.get('stream-offset')) > 0]).toEqual([
        expect.any(String),
        true,
      ])
      const all = await rowsOf(admin)
      expect(all.filter(({ active }) => !active)).toHaveLength(1)
      expect(await rowsOf(admin, '?active=true')).toEqual(all.filter(({ active }) => active))
      expect(await rowsOf(admin, '?active=false')).toEqual(all.filter(({ active }) => !active))
      expect(await rowsOf(admin, '?deviceIdentifier=B&deviceIdentifier=X')).toEqual(
        all.filter(({ deviceIdentifier }) => deviceIdentifier === 'B'),
      )
      // Many are found in another way, which gives the same.
      const many = ['B', ...Array.from({ length: 100 }, (_, index) => `X${index}`)].map(
        (name) => `deviceIdentifier=${name}`,
      )
      expect(await rowsOf(admin, `?${many.join('&')}`)).toEqual(await rowsOf(admin, '?deviceIdentifier=B'))
      for (const query of [
        'limit=2',
        'limit=2&active=true',
        'limit=1&active=false',
        'limit=1&deviceIdentifier=B',
        `limit=1&${many.join('&')}`,
      ]) {
        const seen: unknown[] = []
        for (let path: string | undefined = `/alarms/status?${query}`; path; ) {
          const answer: Answer = await admin.get(path)
          seen.push(...(answer.json as unknown[]))
          path = /<\/api\/v1([^>]*)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1]
        }
        expect(seen).toEqual(await rowsOf(admin, `?${query.replace(/limit=\d&?/, '')}`))
      }
      expect(new Set(all.map(({ resourceIdentifier }) => resourceIdentifier)).size).toBe(alarms.length)
      expect(wrongFields(await admin.get('/alarms/status?active=1'))).toEqual(['active'])
    })
  })

  test('count by what their author may read: less, and they end; put again by another, and they count', async () => {
    await admin.putRole('author', grant({ alarms: ['*'], service: ['read'] }))
    const author = await admin.bringIn('author', ['author'])
    for (const device of [a, b, c]) await report(server, device, 40)
    const alarm = await makeAlarm(author)
    await untilRows(admin, 'A', 'B', 'C')
    await admin.putRole('author', grant({ alarms: ['*'] }), grant({ service: ['read'] }, ['A', 'B']))
    await untilRows(admin, 'A', 'B')
    await admin.patch('/iam/users/author', { state: 'disabled' })
    await untilRows(admin)
    expect(told(await admin.put(pathOf(alarm), watching()))).toMatchObject([200, { updatedBy: admin.claims.sub }])
    await untilRows(admin, 'A', 'B', 'C')
    await admin.delete('/iam/users/author')
  })

  describe('over SIGKILL', () => {
    async function killed(downMs = 0): Promise<void> {
      await server.kill()
      await new Promise((resolve) => setTimeout(resolve, downMs))
      await server.startAgain()
    }

    test('stand where they stood', async () => {
      await report(server, a, 40)
      await report(server, b, 20)
      const alarm = await makeAlarm(admin, { devices: ['A', 'B'] })
      await untilRows(admin, 'A')
      const before = await rowsOf(admin)
      await killed()
      expect(await rowsOf(admin)).toEqual(before)
      expect(told(await admin.get(pathOf(alarm)))).toEqual([200, alarm])
      await report(server, a, 20)
      expect(shortOf(await rowsOf(admin, '?deviceIdentifier=A'))).toEqual(['(A)'])
    })

    test('that were due meanwhile become active at the start, since they were due', async () => {
      await report(server, a, 20)
      await makeAlarm(admin, { forSeconds: 1, devices: ['A'] })
      const before = Date.now()
      await report(server, a, 40)
      const after = Date.now()
      await killed(1_500)
      const [row] = await untilRows(admin, 'A')
      expect(row?.since).toBeGreaterThanOrEqual(before + 1_000)
      expect(row?.since).toBeLessThanOrEqual(after + 1_000)
    })

    test('reach everybody after an edit that was answered', async () => {
      for (const device of [a, b, c]) await report(server, device, 40)
      const alarm = await makeAlarm(admin, { condition: above(50) })
      expect((await admin.put(pathOf(alarm), watching())).status).toBe(200)
      await killed()
      await untilRows(admin, 'A', 'B', 'C')
      expect((await admin.delete(pathOf(alarm))).status).toBe(204)
      await killed()
      await untilRows(admin)
    })
  })
})
