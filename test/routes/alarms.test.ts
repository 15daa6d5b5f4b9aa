import { afterAll, afterEach, describe, expect, test } from 'vitest'
import {
  type Alarm,
  above,
  alarmBody,
  alarmEventsOf,
  idOf,
  makeAlarm,
  pathOf,
  rowsOf,
  shortOf,
  untilRows,
} from '#test/blackbox/alarm-calls'
import { EventClient } from '#test/blackbox/event-client'
import { pagesOf } from '#test/blackbox/pages'
import { climate } from '#test/blackbox/sensor'
import { answerOf, identityOn, report, SignedInUser, wrongFields } from '#test/blackbox/signed-in-user'
import { type Answer, StartedServer } from '#test/blackbox/started-server'

const server = await StartedServer.here(identityOn)
afterAll(() => server.finish())
const admin = await SignedInUser.signIn(server)
const a = await admin.makeDevice('A')
const b = await admin.makeDevice('B')
const c = await admin.makeDevice('C')

/** Alarms over the API. Contract 5.1–5.3. */
describe('alarms', () => {
  afterEach(async () => {
    for (const alarm of (await admin.get('/alarms')).json as Alarm[]) await admin.delete(pathOf(alarm))
    await untilRows(admin)
  })

  const unknown = [404, { error: 'Not Found' }]
  const get = (path: string) => admin.get(path)
  const namesIn = (answer: Answer) => (answer.json as Alarm[]).map(idOf)

  test('are created, activated, cleared, edited and deleted with events to a subscriber', async () => {
    const dashboard = await EventClient.open(server, { offset: 'now' }, admin)
    await report(server, a, 20)
    const answer = await admin.post('/alarms', alarmBody({ devices: ['a'] }))
    const alarm = answer.json as Alarm
    expect(answerOf(answer)).toEqual([
      201,
      {
        ...alarmBody({ devices: ['A'], forSeconds: 0 }),
        resourceIdentifier: expect.stringMatching(/^crn#alarm:[0-9A-HJ-NP-Za-km-z]{10}$/),
        createdBy: admin.claims.sub,
        createdAt: expect.any(Number),
        updatedBy: admin.claims.sub,
        updatedAt: alarm.createdAt,
      },
    ])
    expect(answer.headers.get('location')).toBe(`/api/v1${pathOf(alarm)}`)
    expect(answerOf(await admin.get(pathOf(alarm)))).toEqual([200, alarm])
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
      severity: 'warning',
      acknowledged: null,
    })
    await report(server, a, 41)
    await report(server, a, 20)
    await untilRows(admin, '(A)')
    const edited = await admin.put(pathOf(alarm), alarmBody({ name: 'Mild', condition: above(10), devices: ['A'] }))
    expect(answerOf(edited)).toMatchObject([200, { name: 'Mild', createdAt: alarm.createdAt }])
    await untilRows(admin, 'A')
    expect(answerOf(await admin.delete(pathOf(alarm)))).toEqual([204, undefined])
    await untilRows(admin)
    for (const gone of [admin.get(pathOf(alarm)), admin.delete(pathOf(alarm)), admin.put(pathOf(alarm), alarmBody())]) {
      expect(answerOf(await gone)).toEqual(unknown)
    }
    expect(await alarmEventsOf(dashboard, admin)).toEqual([
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

  test('with a condition use the names of the schema', async () => {
    await report(server, a, 40)
    expect(
      (await admin.put(`/schemas/${climate}`, { name: 'x', properties: { '0x2000': { name: 'room.warmth' } } })).status,
    ).toBeLessThan(300)
    expect(wrongFields(await admin.post('/alarms', alarmBody({ condition: { '>': [{ var: 'warmth' }, 1] } })))).toEqual(
      ['condition.>.0.var'],
    )
    await makeAlarm(admin, { condition: { '>': [{ var: 'room.warmth' }, 30] }, devices: ['A'] })
    await untilRows(admin, 'A')
    await admin.delete(`/schemas/${climate}`)
    expect(shortOf(await rowsOf(admin))).toEqual(['A'])
  })

  test('are listed by id, in full and in pages', async () => {
    const made = [await makeAlarm(admin), await makeAlarm(admin, { devices: ['A'] }), await makeAlarm(admin)]
    const ids = made.map(idOf).sort()
    expect(namesIn(await admin.get('/alarms'))).toEqual(ids)
    expect((await pagesOf(get, '/alarms?limit=2')).flatMap(namesIn)).toEqual(ids)
  })

  test('the status of an alarm is filtered and listed in full and in pages, with its position', async () => {
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
    // Many devices use another query with the same result.
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
      const pages = await pagesOf(get, `/alarms/status?${query}`)
      expect(pages.flatMap(({ json }) => json)).toEqual(await rowsOf(admin, `?${query.replace(/limit=\d&?/, '')}`))
    }
    expect(new Set(all.map(({ resourceIdentifier }) => resourceIdentifier)).size).toBe(alarms.length)
    expect(wrongFields(await admin.get('/alarms/status?active=1'))).toEqual(['active'])
  })

  test('are acknowledged with an event, until they become active again; the history lists everything', async () => {
    const dashboard = await EventClient.open(server, { offset: 'now' }, admin)
    for (const device of [a, b]) await report(server, device, 20)
    const alarm = await makeAlarm(admin, { devices: ['A', 'B'] })
    const path = (device: string) => `${pathOf(alarm)}/status/${device}/acknowledge`
    expect(answerOf(await admin.post(path('A'), {}))).toEqual(unknown)
    for (const device of [a, b]) await report(server, device, 40)
    await untilRows(admin, 'A', 'B')
    const by = admin.claims.sub
    const answer = await admin.post(path('a'), { comment: ' on my way ' })
    const [row] = await rowsOf(admin, '?deviceIdentifier=A')
    expect(answerOf(answer)).toEqual([200, row])
    expect(row?.acknowledged).toEqual({ by, at: expect.any(Number), comment: 'on my way' })
    await report(server, a, 20)
    await untilRows(admin, '(A)', 'B')
    expect((await rowsOf(admin))[0]?.acknowledged?.by).toBe(by)
    await report(server, a, 50)
    await untilRows(admin, 'A', 'B')
    expect((await rowsOf(admin))[0]?.acknowledged).toBeNull()
    await alarmEventsOf(dashboard, admin)
    expect(dashboard.of('ALARM_STATUS_ACKNOWLEDGED')).toEqual([
      expect.objectContaining({ ...{ deviceIdentifier: 'A', since: row?.since }, ...{ by, comment: 'on my way' } }),
    ])
    expect(wrongFields(await admin.post(path('A'), { comment: 'x'.repeat(501) }))).toEqual(['comment'])
    expect(answerOf(await admin.post(path('C'), {}))).toEqual(unknown)
    await dashboard.close()

    interface Row {
      readonly deviceIdentifier: string
      readonly type: string
      readonly at: number
      readonly value?: unknown
    }
    const past = async (query = '') => (await admin.get(`/alarms/history?alarmId=${idOf(alarm)}${query}`)).json as Row[]
    const all = await past()
    const kinds = (rows: readonly Row[]) => rows.map((each) => `${each.deviceIdentifier} ${each.type}`)
    const ofA = ['A ACTIVE', 'A INACTIVE', 'A ACKNOWLEDGED', 'A ACTIVE']
    expect(kinds(all).filter((kind) => kind !== 'B ACTIVE')).toEqual(ofA)
    expect(all).toHaveLength(5)
    expect(all.find(({ type }) => type === 'ACKNOWLEDGED')).toEqual({
      ...{ resourceIdentifier: alarm.resourceIdentifier, deviceIdentifier: 'A', type: 'ACKNOWLEDGED' },
      ...{ at: row?.acknowledged?.at, by, comment: 'on my way' },
    })
    expect(kinds(await past('&deviceIdentifier=A'))).toEqual(ofA)
    expect((await past('&deviceIdentifier=A')).map(({ value }) => value)).toEqual([50, 20, undefined, 40])
    const { at = 0 } = all[1] ?? {}
    expect(await past(`&from=${at}`)).toEqual(all.filter((each) => each.at >= at))
    expect(await past(`&to=${at}&from=-1h`)).toEqual(all.filter((each) => each.at < at))
    expect(wrongFields(await admin.get('/alarms/history?from=5&to=5'))).toEqual(['from'])
    const pages = await pagesOf(get, `/alarms/history?limit=2&alarmId=${idOf(alarm)}`)
    expect(pages.flatMap(({ json }) => json)).toEqual(all)
  })
})
