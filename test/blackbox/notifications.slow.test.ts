import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { StreamEvent } from '#model/event'
import { EventClient, streamHead } from '#test/blackbox/event-client'
import {
  chain,
  type Fn,
  hotter,
  makeFunction,
  onTemperature,
  outboxOf,
  pathOf,
  putWords,
  reasonsIn,
  subscribe,
  subscribing,
  subscriptionsOf,
  tell,
  untilAllTold,
  untilOutbox,
} from '#test/blackbox/notified'
import { type Credentials, grant, newName, Person, report, startWithIdentity, told } from '#test/blackbox/people'
import { PostOffice } from '#test/blackbox/post-office'
import type { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { makeDevice } from '#test/blackbox/watching'

/** Who is subscribed to what, who hears of that, and who gets which mail. §2.6, §3.1, §4.4, §7, contract 5.6, 5.7. */

let office: PostOffice
let server: StartedServer
let admin: Person
let heat: Fn

beforeAll(async () => {
  office = await PostOffice.open()
  server = await startWithIdentity({ SMTP_URL: office.url })
  admin = await Person.signIn(server)
  await putWords(admin)
  heat = await makeFunction(admin)
})
afterAll(async () => {
  await server?.finish()
  await office?.leave()
})

const noReader = grant({ functions: ['read'], notifications: ['*'] })
const reader = (...devices: readonly string[]) =>
  grant({ functions: ['read'], service: ['read'], notifications: ['*'] }, devices)

/** Somebody new, with an address. */
async function somebody(roles: readonly string[] = ['viewer']): Promise<Person> {
  const name = newName('somebody')
  return admin.bringIn(name, roles, { email: addressOf(name) })
}

function addressOf(who: string | Person): string {
  return `${typeof who === 'string' ? who : who.name}@acme.example`
}

/** What a socket heard of subscriptions, up to now. */
async function heardBy(client: EventClient): Promise<readonly object[]> {
  const events = await client.caughtUp({ get: (path: string) => admin.get(path) } as StartedServer)
  return events.flatMap((event) => {
    if (!event.type.startsWith('NOTIFICATION_')) return []
    const { offset: _, timestamp: __, ...rest } = event as StreamEvent & { readonly timestamp: number }
    return [rest]
  })
}

describe('a life of a subscription', () => {
  test('made, read, changed, ended; its events go to the sessions of its owner and to nobody else', async () => {
    const [owner, other] = [await somebody(), await somebody()]
    const since = await streamHead({ get: (path: string) => admin.get(path) } as StartedServer)
    const hearing = await Promise.all([
      EventClient.open(server, { offset: 'now' }, owner),
      EventClient.open(server, { offset: 'now', types: 'NOTIFICATION_SUBSCRIBE,NOTIFICATION_UNSUBSCRIBE' }, owner),
      EventClient.open(server, { offset: 'now' }, other),
      EventClient.open(server, { offset: 'now' }, admin),
    ])
    const path = await subscribe(owner, heat, { locale: 'de-CH' })
    const [made] = await subscriptionsOf(owner)
    expect(made).toEqual({
      topic: heat.resourceIdentifier,
      type: 'email',
      locale: 'de-CH',
      resourceIdentifier: expect.stringMatching(/^crn#subscription:/),
      createdBy: owner.claims.sub,
      createdAt: expect.any(Number),
    })
    expect(`/notifications/subscribe/${made?.resourceIdentifier.slice('crn#subscription:'.length)}`).toBe(path)
    const changed = { ...made, locale: 'en' }
    expect(told(await owner.patch(path, { locale: 'en' }))).toEqual([200, changed])
    for (const body of [{ topic: heat.resourceIdentifier }, { locale: 'de', type: 'email' }, {}]) {
      expect((await owner.patch(path, body)).json).toMatchObject({ error: 'Validation Error' })
    }
    expect(await subscriptionsOf(owner)).toEqual([changed])
    expect(await subscriptionsOf(other)).toEqual([])
    expect(told(await owner.delete(path))).toEqual([204, undefined])
    expect(await subscriptionsOf(owner)).toEqual([])
    expect(told(await owner.delete(path))).toEqual([404, undefined])

    const { resourceIdentifier } = changed
    const subscribed = { type: 'NOTIFICATION_SUBSCRIBE', resourceIdentifier, payload: made }
    const updated = { type: 'NOTIFICATION_SUBSCRIPTION_UPDATE', resourceIdentifier, payload: changed }
    const unsubscribed = { type: 'NOTIFICATION_UNSUBSCRIBE', resourceIdentifier, payload: {} }
    expect(await Promise.all(hearing.map(heardBy))).toEqual([
      [subscribed, updated, unsubscribed],
      [subscribed, unsubscribed],
      [],
      [],
    ])
    // The same to who comes back, by whoever he is then.
    const back = await Promise.all([
      EventClient.open(server, { ...since }, owner),
      EventClient.open(server, { ...since }, other),
      EventClient.open(server, { ...since }, admin),
    ])
    expect(await Promise.all(back.map(heardBy))).toEqual([[subscribed, updated, unsubscribed], [], []])
    for (const client of [...hearing, ...back]) client.cut()
  })

  test('of fifty at once one makes it, and the others hear that it is there', async () => {
    const owner = await somebody()
    const socket = await EventClient.open(server, { offset: 'now' }, owner)
    const asked = Array.from({ length: 50 }, () => owner.post('/notifications/subscribe', subscribing(heat)))
    const answers = await Promise.all(asked)
    const made = answers.filter(({ status }) => status === 201)
    const others = answers.filter(({ status }) => status === 409)
    expect([made.length, others.length]).toEqual([1, 49])
    for (const { text, headers } of others) expect([text, headers.get('content-length')]).toEqual(['', '0'])
    expect(await subscriptionsOf(owner)).toEqual([expect.objectContaining(made[0]?.json as object)])
    expect(await heardBy(socket)).toHaveLength(1)
    socket.cut()
  })

  test('it is there when the answer was, whatever dies behind that', async () => {
    const owner = await somebody()
    const [gone, kept] = [await makeFunction(admin), await makeFunction(admin)]
    const path = await subscribe(owner, gone)
    await subscribe(owner, kept)
    expect((await owner.patch(path, { locale: 'fr' })).status).toBe(200)
    expect((await owner.delete(path)).status).toBe(204)
    const before = await subscriptionsOf(owner)
    await server.kill()
    await server.startAgain()
    expect(before).toEqual([expect.objectContaining({ topic: kept.resourceIdentifier })])
    expect(await subscriptionsOf(owner)).toEqual(before)
    expect((await owner.post('/notifications/subscribe', subscribing(kept))).status).toBe(409)
    for (const fn of [gone, kept]) expect((await admin.delete(pathOf(fn))).status).toBe(204)
  })

  test('made under a key, it is one, also when the server died before the second time', async () => {
    const owner = await somebody()
    const ask = { method: 'POST', body: subscribing(heat), headers: { 'idempotency-key': newName('subscribe') } }
    const first = await owner.ask('/notifications/subscribe', ask)
    await server.kill()
    await server.startAgain()
    const second = await owner.ask('/notifications/subscribe', ask)
    expect([told(second), second.headers.get('location')]).toEqual([told(first), first.headers.get('location')])
    expect(first.status).toBe(201)
    expect(await subscriptionsOf(owner)).toHaveLength(1)
  })

  test('ends with its function, and each owner is told; also when the server dies with it', async () => {
    const fn = await makeFunction(admin)
    const owners = [await somebody(), await somebody()]
    for (const owner of owners) await subscribe(owner, fn)
    const since = await streamHead({ get: (path: string) => admin.get(path) } as StartedServer)
    expect((await admin.delete(pathOf(fn))).status).toBe(204)
    await server.kill()
    await server.startAgain()
    for (const owner of owners) {
      expect(await subscriptionsOf(owner)).toEqual([])
      const socket = await EventClient.open(server, { ...since }, owner)
      await until(async () => (await heardBy(socket)).length > 0, 'the end of a subscription')
      expect(await heardBy(socket)).toEqual([
        { type: 'NOTIFICATION_UNSUBSCRIBE', resourceIdentifier: expect.any(String), payload: {} },
      ])
      socket.cut()
    }
  })

  test('ends with its tenant, and nobody of it gets what still waits', async () => {
    const tenant = newName('works')
    const make = () => admin.post('/iam/tenants', { tenantIdentifier: tenant, name: 'Works' })
    expect((await make()).status).toBe(201)
    const boss = await admin.bringIn(newName('boss'), ['admin'], { email: 'boss@works.example' }, `?tenant=${tenant}`)
    await putWords(boss)
    const fn = await makeFunction(boss)
    await subscribe(boss, fn)
    const oven = await makeDevice(boss, 'OVEN')
    const named = { ...oven, name: `${tenant}/OVEN` }
    await report(server, named, 20)
    await office.leave()
    await report(server, named, 40)
    await untilOutbox(boss, { waiting: { requests: 1, subscribers: 1 }, transport: { state: 'resting' } })
    expect((await admin.delete(`/iam/tenants/${tenant}`)).status).toBe(204)
    await office.comeBack()
    await until(async () => (await make()).status === 201, 'the tenant to be gone')
    const next = await admin.bringIn(newName('boss'), ['admin'], { email: 'boss@works.example' }, `?tenant=${tenant}`)
    expect([await subscriptionsOf(next), (await next.get('/functions')).json]).toEqual([[], []])
    expect(await outboxOf(next)).toMatchObject({ waiting: { requests: 0, subscribers: 0 }, sent: 0, failures: [] })
    expect(office.to('boss@works.example')).toEqual([])
  })

  test('ends with its user, and a new one of the name has none', async () => {
    const owner = await somebody()
    await subscribe(owner, heat)
    expect((await admin.delete(`/iam/users/${owner.name}`)).status).toBe(204)
    const again = await admin.bringIn(owner.name, ['viewer'], { email: addressOf(owner) })
    expect(await subscriptionsOf(again)).toEqual([])
  })
})

describe('what is refused, the first thing that is wrong', () => {
  const bad = [400, { error: 'Validation Error', details: expect.any(Array) }]
  const said = (message: string) => [400, { message }]
  const noFunction = said('the topic is no function instance of this tenant')
  const nowhere = 'crn#function:7Gm2sXv5Hd'

  test.each<[what: string, body: () => object, answer: readonly unknown[]]>([
    ['a field is missing', () => ({ topic: heat.resourceIdentifier, type: 'email' }), bad],
    ['a field is unknown', () => subscribing(heat, { to: 'me@acme.example' }), bad],
    ['a transport that is none', () => subscribing(heat, { type: 'sms', topic: nowhere }), bad],
    ['a locale that is none', () => subscribing(heat, { type: 'apn', locale: 'e' }), bad],
    ['a transport to come', () => subscribing(heat, { type: 'apn' }), said('apn is not delivered yet; only email is')],
    ['a topic that is no name', () => subscribing(heat, { topic: 'heat' }), noFunction],
    ['a topic that is nowhere', () => subscribing(heat, { topic: nowhere }), noFunction],
    ['a topic of another kind', () => subscribing(heat, { topic: admin.claims.sub }), noFunction],
    ['right', () => subscribing(heat), [201, { resourceIdentifier: expect.any(String) }]],
    ['there already', () => subscribing(heat, { locale: 'de' }), [409, undefined]],
  ])('%s', async (_, body, answer) => {
    expect(told(await admin.post('/notifications/subscribe', body()))).toEqual(answer)
  })

  test('whoever may not read all that it is bound to', async () => {
    const group = (await admin.post('/groups', { name: 'Hall', devices: ['A', 'B'] })).json as Fn
    const id = group.resourceIdentifier.slice('crn#group:'.length)
    const [ofA, ofHall] = [
      await makeFunction(admin, { binding: { devices: ['A'] } }),
      await makeFunction(admin, { binding: { groups: [id] } }),
    ]
    await admin.putRole('without-service', noReader)
    await admin.putRole('of-a', reader('A'))
    const [without, some] = [await somebody(['without-service']), await somebody(['of-a'])]
    const statusOf = async (who: Person, fn: Fn) => (await who.post('/notifications/subscribe', subscribing(fn))).status
    expect(await statusOf(without, ofA)).toBe(403)
    expect(await statusOf(some, heat)).toBe(403)
    expect(await statusOf(some, ofHall)).toBe(403)
    expect(await statusOf(some, ofA)).toBe(201)
    expect((await admin.patch(`/groups/${id}`, { devices: ['A'] })).status).toBe(200)
    expect(await statusOf(some, ofHall)).toBe(201)
    for (const fn of [ofA, ofHall]) expect((await admin.delete(pathOf(fn))).status).toBe(204)
  })

  test('somebody else’s is one that is not there', async () => {
    const [owner, other] = [await somebody(), await somebody()]
    const path = await subscribe(owner, heat)
    const unknown = `${path.slice(0, -10)}7Gm2sXv5Hd`
    for (const ask of [
      (at: string) => other.delete(at),
      (at: string) => other.patch(at, { locale: 'de' }),
      (at: string) => admin.delete(at),
    ]) {
      const answers = [await ask(path), await ask(unknown)]
      for (const { status, text, headers } of answers) {
        expect([status, text, headers.get('content-length')]).toEqual([404, '', '0'])
      }
    }
    expect(told(await other.delete('/notifications/subscribe/0OIl'))).toEqual(bad)
    expect(await subscriptionsOf(owner)).toHaveLength(1)
  })
})

describe('what is heard', () => {
  let oven: Credentials
  let fn: Fn

  beforeAll(async () => {
    oven = await makeDevice(admin, 'OVEN')
    await report(server, oven, 20)
    expect((await admin.delete(pathOf(heat))).status).toBe(204)
    fn = await makeFunction(admin, { binding: { devices: ['OVEN'] } })
  })

  test('a whole life: made, tried, subscribed, told, changed, told otherwise, ended', async () => {
    const owner = await somebody()
    await subscribe(owner, fn, { locale: 'de-CH' })
    const tried = await owner.post(`${pathOf(fn)}/test`, { sample: { deviceIdentifier: 'X', value: 50, locale: 'de' } })
    expect(told(tried)).toMatchObject([200, { path: ['heat', 'hot', 'tell'], mails: [{ subject: 'X auf 50' }] }])
    await report(server, oven, 40)
    await report(server, oven, 30)
    const [first] = await office.until(addressOf(owner), 1)
    expect(first).toMatchObject({ subject: 'OVEN auf 40', text: 'Heat: 40, vorher 20' })
    const graph = chain(onTemperature, hotter(10), { id: 'daily', type: 'throttle', seconds: 86_400 }, tell)
    expect((await admin.patch(pathOf(fn), { name: 'Warm', graph })).status).toBe(200)
    for (const degrees of [15, 16, 17]) await report(server, oven, degrees)
    const [, second] = await office.until(addressOf(owner), 2)
    expect(second).toMatchObject({ subject: 'OVEN auf 15', text: 'Warm: 15, vorher 30' })
    await untilAllTold(admin)
    await server.kill()
    await server.startAgain()
    // The throttle has it still, also of who comes from afar.
    for (const degrees of [18, 19]) await report(server, oven, degrees)
    expect((await admin.patch(pathOf(fn), { enabled: false })).status).toBe(200)
    await report(server, oven, 50)
    const now = chain(onTemperature, hotter(30), tell)
    expect((await admin.patch(pathOf(fn), { enabled: true, name: 'Heat', graph: now })).status).toBe(200)
    await report(server, oven, 51)
    await office.until(addressOf(owner), 3)
    await untilAllTold(admin)
    expect(office.subjectsTo(addressOf(owner))).toEqual(['OVEN auf 40', 'OVEN auf 15', 'OVEN auf 51'])
  })

  test('by who he is, and may read, when his mail leaves, and not when it happened', async () => {
    const before = reasonsIn(await outboxOf(admin))
    await admin.putRole('of-oven', reader('OVEN'))
    const people = {
      stays: await somebody(),
      isDisabled: await somebody(),
      mayNoMore: await somebody(['of-oven']),
      moves: await somebody(),
      hasNoAddress: await somebody(),
      reads: await somebody(),
      leaves: await somebody(),
      isRemoved: await somebody(),
    }
    const paths = new Map<Person, string>()
    for (const who of Object.values(people)) paths.set(who, await subscribe(who, fn))
    const pathOfHis = (who: Person) => paths.get(who) ?? ''
    const change = async (who: Person, body: object) =>
      expect((await admin.patch(`/iam/users/${who.name}`, body)).status).toBe(200)
    await office.leave()
    await report(server, oven, 60)
    await untilOutbox(admin, { transport: { state: 'resting' } })
    await change(people.isDisabled, { state: 'disabled' })
    await admin.putRole('of-oven', reader('STOVE'))
    await change(people.moves, { email: 'moved@acme.example' })
    await change(people.hasNoAddress, { email: null })
    expect((await people.reads.patch(pathOfHis(people.reads), { locale: 'de' })).status).toBe(200)
    expect((await people.leaves.delete(pathOfHis(people.leaves))).status).toBe(204)
    expect((await admin.delete(`/iam/users/${people.isRemoved.name}`)).status).toBe(204)
    await office.comeBack()
    await office.until('moved@acme.example', 1)
    const after = reasonsIn(await untilAllTold(admin))
    const heard = Object.entries(people).map(([what, who]) => [what, office.subjectsTo(addressOf(who))])
    expect(Object.fromEntries(heard)).toEqual({
      stays: ['OVEN 60'],
      isDisabled: [],
      mayNoMore: [],
      moves: [],
      hasNoAddress: [],
      reads: ['OVEN auf 60'],
      leaves: [],
      isRemoved: [],
    })
    expect(office.subjectsTo('moved@acme.example')).toEqual(['OVEN 60'])
    const grown = (reason: string) => (after[reason] ?? 0) - (before[reason] ?? 0)
    expect(['disabled', 'forbidden', 'no_address'].map(grown)).toEqual([1, 1, 1])
  })

  test('of no device that is not bound any more', async () => {
    const owner = await somebody()
    const two = await makeFunction(admin, { name: 'Two', binding: { devices: ['OVEN'] } })
    await subscribe(owner, two)
    await office.leave()
    await report(server, oven, 70)
    await untilOutbox(admin, { transport: { state: 'resting' } })
    expect((await admin.patch(pathOf(two), { binding: { devices: ['STOVE'] } })).status).toBe(200)
    await office.comeBack()
    await untilAllTold(admin)
    expect(office.subjectsTo(addressOf(owner))).toEqual([])
    expect(reasonsIn(await outboxOf(admin)).unbound).toBe(1)
  })
})

describe('the outbox', () => {
  test('is for administrators; operators and viewers do what they like with their own', async () => {
    await admin.putRole('all-of-it', grant({ notifications: ['*'], functions: ['*'] }))
    for (const role of ['operator', 'viewer', 'all-of-it']) {
      expect((await (await somebody([role])).get('/notifications/outbox')).status).toBe(403)
    }
    const answer = await admin.get('/notifications/outbox')
    expect(answer.status).toBe(200)
    expect(answer.text).not.toContain('@')
  })
})
