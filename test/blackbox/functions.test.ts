import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  chain,
  type Fn,
  hotter,
  makeFunction,
  onTemperature,
  pathOf,
  putWords,
  subscribe,
  tell,
  untilAllTold,
  words,
} from '#test/blackbox/notified'
import { type Credentials, grant, Person, report, startWithIdentity, told, wrongFields } from '#test/blackbox/people'
import { PostOffice } from '#test/blackbox/post-office'
import type { Answer, StartedServer } from '#test/blackbox/started-server'
import { idOf as idOfAlarm, makeAlarm, makeDevice, pathOf as pathOfAlarm, untilRows } from '#test/blackbox/watching'

/** What is done when something happens to a device. Contract 5.1, 5.2, 5.4, 5.5. */

const ann = 'ann@acme.example'

let office: PostOffice
let server: StartedServer
let admin: Person
let reader: Person
/** Who may do everything with functions of A and B, and read these two. */
let clerk: Person
let a: Credentials
let b: Credentials

beforeAll(async () => {
  office = await PostOffice.open()
  server = await startWithIdentity({ SMTP_URL: office.url })
  admin = await Person.signIn(server)
  reader = await admin.bringIn('ann', ['viewer'], { email: ann })
  const permissions = { functions: ['*'], service: ['read'], alarms: ['read'], meta: ['read'] }
  await admin.putRole('clerk', grant(permissions, ['A', 'B']))
  clerk = await admin.bringIn('clerk', ['clerk'])
  await putWords(admin)
  a = await makeDevice(admin, 'A')
  b = await makeDevice(admin, 'B')
  for (const device of [a, b]) await report(server, device, 20)
})
afterEach(async () => {
  for (const fn of (await admin.get('/functions')).json as Fn[]) await admin.delete(pathOf(fn))
  expect(server.complaints).toEqual([])
})
afterAll(async () => {
  await server?.finish()
  await office?.leave()
})

const unknown = [404, { error: 'Not Found' }]
const namesIn = (answer: Answer) => (answer.json as Fn[]).map(({ name }) => name)

/** What Ann was told since the last time, in order, once nobody waits for anything. */
let seen = 0
async function toldToAnn(): Promise<string[]> {
  await untilAllTold(admin)
  const subjects = office.subjectsTo(ann).slice(seen)
  seen += subjects.length
  return subjects
}

describe('functions', () => {
  test('are made, read, changed and removed', async () => {
    const graph = chain(onTemperature, hotter(30), tell)
    const answer = await admin.post('/functions', { name: 'Heat', binding: { devices: ['a'] }, graph })
    const fn = answer.json as Fn
    expect(told(answer)).toEqual([
      201,
      {
        name: 'Heat',
        enabled: true,
        binding: { devices: ['A'] },
        graph,
        resourceIdentifier: expect.stringMatching(/^crn#function:[0-9A-HJ-NP-Za-km-z]{10}$/),
        createdBy: admin.claims.sub,
        createdAt: expect.any(Number),
        updatedBy: admin.claims.sub,
        updatedAt: expect.any(Number),
      },
    ])
    expect(answer.headers.get('location')).toBe(`/api/v1${pathOf(fn)}`)
    expect(told(await admin.get(pathOf(fn)))).toEqual([200, fn])
    expect(told(await clerk.get('/functions'))).toEqual([200, [fn]])
    const changed = { ...fn, enabled: false, binding: {}, updatedBy: admin.claims.sub, updatedAt: expect.any(Number) }
    expect(told(await admin.patch(pathOf(fn), { enabled: false, binding: {} }))).toEqual([200, changed])
    // Now of all devices, which the clerk does not reach.
    expect([namesIn(await clerk.get('/functions')), told(await clerk.get(pathOf(fn)))]).toEqual([[], unknown])
    await server.kill()
    await server.startAgain()
    expect(told(await admin.get(pathOf(fn)))).toEqual([200, changed])
    expect((await admin.delete(pathOf(fn))).status).toBe(204)
    expect(told(await admin.get(pathOf(fn)))).toEqual(unknown)
  })

  test.each<[what: string, graph: object, path: string, node: string]>([
    ['that goes round', round(), 'graph.nodes', 'node "x"'],
    ['in two pieces', { nodes: [onTemperature, { ...onTemperature, id: 'far' }], edges: [] }, 'graph.nodes', '"far"'],
    ['with an unknown node', chain(onTemperature, { id: 'x', type: 'sms' }), 'graph.nodes.1', 'node "x"'],
    ['that leads nowhere', { nodes: [onTemperature], edges: [['heat', 'x']] }, 'graph.edges.0', '"x"'],
    ['of 65 nodes', chain(onTemperature, ...throttles(64)), 'graph.nodes', ''],
    ['with an alarm that is not there', onAlarm('7Gm2sXv5Hd'), 'graph.nodes.0', 'node "alarm"'],
  ])('a graph %s: 400 that names the node', async (_, graph, path, node) => {
    const answer = await admin.post('/functions', { name: 'Bad', binding: {}, graph })
    expect(wrongFields(answer).every((field) => field.startsWith(path.split('.', 2).join('.')))).toBe(true)
    const { details } = answer.json as { details: { path: string; message: string }[] }
    expect(details.some((detail) => detail.path.startsWith(path) && detail.message.includes(node))).toBe(true)
  })

  test('are bound to what their maker reads, and seen by who reads all of it', async () => {
    const bound = (devices: readonly string[]) => ({
      name: devices.join(),
      binding: { devices },
      graph: chain(onTemperature, tell),
    })
    expect((await clerk.post('/functions', bound(['A', 'B']))).status).toBe(201)
    expect(told(await clerk.post('/functions', bound(['A', 'C'])))).toEqual(unknown)
    expect((await admin.post('/functions', bound(['A', 'C']))).status).toBe(201)
    expect(namesIn(await clerk.get('/functions'))).toEqual(['A,B'])
    expect(namesIn(await admin.get('/functions')).sort()).toEqual(['A,B', 'A,C'])
    // The words of mails go out to everybody, so whoever writes them reaches everything.
    expect((await clerk.put('/templates/heat', words)).status).toBe(403)
    expect((await clerk.get('/templates/heat')).status).toBe(200)
  })

  test('hold the groups they are bound to', async () => {
    const group = (await admin.post('/groups', { name: 'Hall', devices: ['A'] })).json as Fn
    const path = `/groups/${group.resourceIdentifier.slice('crn#group:'.length)}`
    const fn = await makeFunction(admin, { binding: { groups: [path.slice('/groups/'.length)] } })
    expect((await admin.delete(path)).status).toBe(409)
    await subscribe(reader, fn)
    await report(server, b, 40)
    await report(server, a, 40)
    expect(await toldToAnn()).toEqual(['A 40'])
    expect((await admin.patch(path, { devices: ['B'] })).status).toBe(200)
    await report(server, a, 41)
    await report(server, b, 41)
    expect(await toldToAnn()).toEqual(['B 41'])
    expect((await admin.delete(pathOf(fn))).status).toBe(204)
    expect((await admin.delete(path)).status).toBe(204)
  })
})

describe('what a function tells', () => {
  test('of a value that is another, past its condition, and past its throttle once for each device', async () => {
    const throttle = { id: 'daily', type: 'throttle', seconds: 86_400 }
    const fn = await makeFunction(admin, { graph: chain(onTemperature, hotter(30), throttle, tell) })
    await subscribe(reader, fn)
    for (const degrees of [20, 30, 50, 50, 51]) await report(server, a, degrees)
    expect(await toldToAnn()).toEqual(['A 50'])
    await server.kill()
    await server.startAgain()
    await report(server, a, 52)
    await report(server, b, 50)
    expect(await toldToAnn()).toEqual(['B 50'])
  })

  test('of an alarm that comes and goes, though never that it was edited or is no more', async () => {
    for (const device of [a, b]) await report(server, device, 20)
    const alarm = await makeAlarm(admin)
    const fn = await makeFunction(admin, { graph: onAlarm(idOfAlarm(alarm)) })
    await putWords(admin, 'alarm', {
      locales: { en: { subject: '{{deviceIdentifier}} {{alarm}} {{value}}', text: '.' } },
    })
    await subscribe(reader, fn)
    for (const degrees of [60, 10, 61]) await report(server, a, degrees)
    expect(await toldToAnn()).toEqual(['A Warm true', 'A Warm false', 'A Warm true'])
    expect((await admin.delete(pathOfAlarm(alarm))).status).toBe(204)
    await untilRows(admin)
    expect(await toldToAnn()).toEqual([])
    // The trigger is dead; whoever reads the function still sees what it was about.
    expect((await admin.get(pathOf(fn))).status).toBe(200)
  })

  test('of a device that comes and goes', async () => {
    const trigger = { id: 'status', type: 'trigger', on: 'status', to: 'online' }
    const fn = await makeFunction(admin, { graph: chain(trigger, tell) })
    await subscribe(reader, fn)
    const made = await makeDevice(admin, 'NEW')
    await report(server, made, 20)
    expect(await toldToAnn()).toEqual(['NEW online'])
  })

  test('what was noted about the device, to who may read that', async () => {
    await putWords(admin, 'place', { locales: { en: { subject: '{{value}} in {{meta.place}}.', text: '.' } } })
    expect((await admin.patch('/meta/A', { place: 'hall 3' })).status).toBe(200)
    const inHall = { id: 'in', type: 'condition', logic: { '==': [{ var: 'meta.place' }, 'hall 3'] } }
    const fn = await makeFunction(admin, { graph: chain(onTemperature, inHall, { ...tell, template: 'place' }) })
    await admin.putRole('no-meta', grant({ functions: ['read'], service: ['read'], notifications: ['*'] }))
    const blind = await admin.bringIn('blind', ['no-meta'], { email: 'blind@acme.example' })
    for (const who of [reader, blind]) await subscribe(who, fn)
    for (const device of [a, b]) await report(server, device, 70)
    expect(await toldToAnn()).toEqual(['70 in hall 3.'])
    expect(office.subjectsTo('blind@acme.example')).toEqual(['70 in .'])
  })

  test('nothing where its author may read no more, until somebody edits it who may', async () => {
    const fn = await makeFunction(clerk, { binding: { devices: ['A'] } })
    await subscribe(reader, fn)
    await report(server, a, 80)
    expect(await toldToAnn()).toEqual(['A 80'])
    await admin.putRole('clerk', grant({ functions: ['*'], alarms: ['read'] }, ['A', 'B']))
    await report(server, a, 81)
    expect(await toldToAnn()).toEqual([])
    expect((await admin.patch(pathOf(fn), { name: 'Mine' })).status).toBe(200)
    await report(server, a, 82)
    expect(await toldToAnn()).toEqual(['A 82'])
  })
})

test('trying it out tells the way and the mail, and sends nothing', async () => {
  const fn = await makeFunction(admin, { binding: { devices: ['A'] } })
  await subscribe(reader, fn)
  const sample = { deviceIdentifier: 'X', value: 31, previous: 29, locale: 'de-AT' }
  expect(told(await reader.post(`${pathOf(fn)}/test`, { sample }))).toEqual([
    200,
    {
      path: ['heat', 'hot', 'tell'],
      stopped: [],
      mails: [{ node: 'tell', template: 'heat', locale: 'de', subject: 'X auf 31', text: 'Heat: 31, vorher 29' }],
    },
  ])
  expect(told(await reader.post(`${pathOf(fn)}/test`, { sample: { value: 30 } }))).toEqual([
    200,
    { path: ['heat', 'hot'], stopped: [{ node: 'hot', because: 'false' }], mails: [] },
  ])
  expect(wrongFields(await reader.post(`${pathOf(fn)}/test`, { sample: { trigger: 'hot' } }))).toEqual([
    'sample.trigger',
  ])
  expect(await toldToAnn()).toEqual([])
})

function onAlarm(alarmId: string) {
  return chain({ id: 'alarm', type: 'trigger', on: 'alarm', alarmId }, { ...tell, template: 'alarm' })
}

function round() {
  const x = { id: 'x', type: 'throttle', seconds: 1 }
  const nodes = [onTemperature, x, { ...x, id: 'y' }]
  return {
    nodes,
    edges: [
      ['heat', 'x'],
      ['x', 'y'],
      ['y', 'x'],
    ],
  }
}

function throttles(count: number) {
  return Array.from({ length: count }, (_, index) => ({ id: `t${index}`, type: 'throttle', seconds: 1 }))
}
