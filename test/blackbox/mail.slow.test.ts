import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { clockAhead } from '#test/blackbox/moved-clock'
import {
  type Fn,
  makeFunction,
  type Outbox,
  outboxOf,
  putWords,
  reasonsIn,
  subscribe,
  subscriptionsOf,
  untilAllTold,
  untilOutbox,
} from '#test/blackbox/notified'
import { type Credentials, Person, report, startWithIdentity } from '#test/blackbox/people'
import { PostOffice, reply } from '#test/blackbox/post-office'
import { type Environment, ServerRun, type StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { makeDevice } from '#test/blackbox/watching'
import { headerOf, readMail } from '#test/outbound/read-mail'

/** How mails leave, and what becomes of them when something dies on the way. Contract 5.7. */

const ann = 'ann@acme.example'
const annSigns: Credentials = { name: 'ann', password: 'password of ann' }
const minuteMs = 60_000

let office: PostOffice
let server: StartedServer
let admin: Person
let heat: Fn
let oven: Credentials

beforeEach(async () => {
  office = await PostOffice.open()
})
afterEach(async () => {
  try {
    await server?.finish()
  } finally {
    await office.leave()
  }
})

/** A function, who hears of it, and a device that is not hot. */
async function begin(environment: Environment = {}): Promise<void> {
  server = await startWithIdentity({ SMTP_URL: office.url, ...environment })
  admin = await Person.signIn(server)
  await putWords(admin)
  heat = await makeFunction(admin)
  await subscribe(await admin.bringIn(annSigns.name, ['viewer'], { email: ann }), heat)
  oven = await makeDevice(admin, 'OVEN')
  await report(server, oven, 20)
}

/** Whoever was signed in may not be any more, by a clock that is ahead. */
async function startAgain(aheadMs = 0): Promise<void> {
  await server.startAgain(aheadMs === 0 ? { NODE_OPTIONS: '' } : clockAhead(aheadMs))
  admin = await Person.signIn(server)
}

async function killed(aheadMs = 0): Promise<void> {
  await server.kill()
  await startAgain(aheadMs)
}

/** What nobody is told twice is told by then. */
async function untilQuiet(degrees: number): Promise<Outbox> {
  const { length } = office.arrived
  await report(server, oven, degrees)
  await until(
    () => office.arrived.length > length,
    () => `a mail behind ${length}`,
  )
  return untilAllTold(admin)
}

describe('killed', () => {
  test('before the mail server took it: sent once more, and it is the same mail', async () => {
    await begin()
    office.hold()
    await report(server, oven, 40)
    const [first] = await office.until(ann, 1)
    await server.kill()
    office.answering = () => {}
    await startAgain()
    const [, second] = await office.until(ann, 2)
    expect(second).toEqual(first)
    expect(first).toMatchObject({ subject: 'OVEN 40', text: 'Heat: 40, was 20' })
    expect(await untilQuiet(41)).toMatchObject({ sent: 2, digests: 0, failures: [] })
    expect(office.subjectsTo(ann)).toEqual(['OVEN 40', 'OVEN 40', 'OVEN 41'])
  })

  test('right behind it: twice at most, and it is the same mail', async () => {
    await begin()
    office.answering = () => {
      server.run.signal('SIGKILL')
    }
    await report(server, oven, 40)
    await server.run.ended
    office.answering = () => {}
    await startAgain()
    await untilQuiet(41)
    expect(office.subjectsTo(ann).filter((subject) => subject === 'OVEN 41')).toHaveLength(1)
    const ids = office.to(ann).flatMap(({ subject, id }) => (subject === 'OVEN 40' ? [id] : []))
    expect([ids.length === 1 || ids.length === 2, new Set(ids).size]).toEqual([true, 1])
  })

  test('when it was stored that it left: not once more', async () => {
    await begin()
    await report(server, oven, 40)
    await untilOutbox(admin, { sent: 1 })
    await killed()
    expect(await untilQuiet(41)).toMatchObject({ sent: 2 })
    expect(office.subjectsTo(ann)).toEqual(['OVEN 40', 'OVEN 41'])
  })

  test('before it could leave at all: what happened is told', async () => {
    await begin()
    await office.leave()
    await report(server, oven, 40)
    await server.kill()
    await office.comeBack()
    await startAgain()
    await office.until(ann, 1)
    expect(await untilAllTold(admin)).toMatchObject({ sent: 1 })
    expect(office.subjectsTo(ann)).toEqual(['OVEN 40'])
  })

  test('while it waits to be tried again: it goes on waiting, and is tried at its time', async () => {
    await begin()
    office.answering = () => {
      throw reply(451, 'busy')
    }
    await report(server, oven, 40)
    const [first] = await office.until(ann, 1)
    // Another one has nothing to wait for: when it was sent, the first would have been tried.
    const ben = await admin.bringIn('ben', ['viewer'], { email: 'ben@acme.example' })
    await subscribe(ben, heat)
    office.answering = () => {}
    await killed()
    await report(server, oven, 41)
    await office.until('ben@acme.example', 1)
    expect(await untilOutbox(admin, { sent: 1, waiting: { subscribers: 1 } })).toMatchObject({ failures: [] })
    expect(office.to(ann)).toHaveLength(1)
    await killed(2 * minuteMs)
    const [, again] = await office.until(ann, 2)
    expect(again).toEqual(first)
    await untilAllTold(admin)
    expect(office.subjectsTo(ann)).toEqual(['OVEN 40', 'OVEN 40', 'OVEN 41'])
  })

  test('while it waits for its hour, and in the digest: told once, by all that was stored', async () => {
    await begin({ MAILS_PER_HOUR_MAX: '2' })
    for (const degrees of [40, 41, 42, 43]) await report(server, oven, degrees)
    await untilOutbox(admin, { sent: 2, waiting: { subscribers: 1 } })
    await killed()
    await report(server, oven, 44)
    await untilOutbox(admin, { sent: 2, waiting: { subscribers: 1 } })
    expect(office.subjectsTo(ann)).toEqual(['OVEN 40', 'OVEN 41'])
    await server.kill()
    office.hold()
    await startAgain(61 * minuteMs)
    const [, , digest] = await office.until(ann, 3)
    await server.kill()
    office.answering = () => {}
    await startAgain(61 * minuteMs)
    const [, , , again] = await office.until(ann, 4)
    expect(again).toEqual(digest)
    expect(digest?.subject).toBe('3 notifications')
    for (const degrees of [42, 43, 44]) expect(digest?.text).toContain(`OVEN ${degrees}`)
    expect(digest?.text).not.toContain('OVEN 41')
    expect(await untilAllTold(admin)).toMatchObject({ sent: 2, digests: 1, digested: 3, failures: [] })
    expect(office.arrived).toHaveLength(4)
  })
})

test('a server that is away for a while: nothing is lost, nobody is tried, and all comes in its order', async () => {
  await begin()
  await office.leave()
  for (const degrees of [40, 41, 42]) await report(server, oven, degrees)
  const { transport } = await untilOutbox(admin, { transport: { state: 'resting' } })
  expect(transport).toEqual({ kind: 'smtp', state: 'resting', lastError: 'CONNECTION' })
  expect(await outboxOf(admin)).toMatchObject({ sent: 0, failures: [], waiting: { requests: 3, subscribers: 1 } })
  await office.comeBack()
  await office.until(ann, 3)
  expect(await untilAllTold(admin)).toMatchObject({ sent: 3, transport: { kind: 'smtp', state: 'ok' } })
  expect(office.subjectsTo(ann)).toEqual(['OVEN 40', 'OVEN 41', 'OVEN 42'])
})

test('an address that is refused for good is passed over, and rests; a mended one is told again', async () => {
  await begin()
  office.answering = () => {
    throw reply(550, `${ann} is unknown`)
  }
  for (const degrees of [40, 41, 42, 43]) {
    await report(server, oven, degrees)
    await untilAllTold(admin)
  }
  expect(office.to(ann)).toHaveLength(3)
  office.answering = () => {}
  const outbox = await admin.get('/notifications/outbox')
  expect(reasonsIn(outbox.json as Outbox)).toEqual({ rejected: 3, resting: 1 })
  expect(outbox.text).not.toMatch(/acme\.example|unknown/)
  expect(server.run.output).not.toContain(ann)
  expect((await admin.patch('/iam/users/ann', { email: 'ann@new.example' })).status).toBe(200)
  await report(server, oven, 44)
  await office.until('ann@new.example', 1)
  expect(office.subjectsTo('ann@new.example')).toEqual(['OVEN 44'])
})

test('asked to stop while a mail is on its way: it waits for that, and nobody gets a second one', async () => {
  await begin()
  const letGo = office.hold()
  await report(server, oven, 40)
  await office.until(ann, 1)
  const ending = server.stop()
  await until(() => server.run.lines.some(({ msg }) => msg === 'stopping'), 'it to stop')
  letGo()
  expect(await ending).toBe(0)
  await startAgain()
  expect(await untilQuiet(41)).toMatchObject({ sent: 2 })
  expect(office.subjectsTo(ann)).toEqual(['OVEN 40', 'OVEN 41'])
})

test('asked to stop by somebody whose mail server never answers: it stops all the same', async () => {
  await begin()
  office.hold()
  await report(server, oven, 40)
  await office.until(ann, 1)
  expect(await server.stop()).toBe(0)
  office.answering = () => {}
})

describe('without a mail server', () => {
  const folder = () => join(server.dataFolder, 'outbox')
  const files = () => readdirSync(folder()).sort()
  const mailIn = (name: string) => readMail(readFileSync(join(folder(), name), 'latin1'))

  test('each mail is a file that its owner reads; sent once more it is one', async () => {
    await begin({ SMTP_URL: '' })
    expect(server.run.output).toContain('SMTP_URL')
    await report(server, oven, 40)
    await untilOutbox(admin, { sent: 1, transport: { kind: 'eml', state: 'ok' } })
    const [name = '', ...others] = files()
    expect([name, others]).toEqual([expect.stringMatching(/^\d{14}-[0-9a-f]{16}\.eml$/), []])
    expect(statSync(join(folder(), name)).mode & 0o777).toBe(0o600)
    const { headers, subject, text } = mailIn(name)
    expect([headerOf(headers, 'to'), subject, text]).toEqual([ann, 'OVEN 40', 'Heat: 40, was 20'])
    await killed()
    await report(server, oven, 41)
    await untilOutbox(admin, { sent: 2 })
    expect(files().map((file) => mailIn(file).subject)).toEqual(['OVEN 40', 'OVEN 41'])
  })
})

test('a folder for mails that can be none is said, and nothing starts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'blackbox-'))
  try {
    writeFileSync(join(folder, 'outbox'), 'not a folder')
    const run = new ServerRun({ DATA_DIR: folder })
    expect(await run.ended).toBe(1)
    expect(run.lines.filter(({ level }) => level === 'fatal').map(({ msg }) => msg)).toEqual([
      `${join(folder, 'outbox')}: no place for mails (EEXIST); set SMTP_URL, or mend it`,
    ])
    expect(run.output).not.toContain('    at ')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('one click in a mail ends the subscription it came by, and nothing else', async () => {
  await begin({ PUBLIC_URL: 'https://devices.example' })
  const other = await makeFunction(admin, { name: 'Other' })
  const signedIn = await Person.signIn(server, annSigns)
  await subscribe(signedIn, other)
  await report(server, oven, 40)
  const mails = await office.until(ann, 2)
  const { headers } = mails.find(({ text }) => text.startsWith('Heat:')) ?? { headers: [] }
  const [, url = ''] = /^<(.+)>$/.exec(headerOf(headers, 'list-unsubscribe')) ?? []
  expect(url).toMatch(/^https:\/\/devices\.example\/api\/v1\/notifications\/unsubscribe\//)
  expect(headerOf(headers, 'list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
  const at = url.replace('https://devices.example', `http://127.0.0.1:${server.port}`)
  const click = (address: string) =>
    fetch(address, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    })
  expect((await click(`${at.slice(0, -4)}aaaa`)).status).toBe(403)
  // Whoever looks at what stands behind links changes nothing.
  const page = await fetch(at)
  expect([page.status, (await page.text()).includes('method="post"')]).toEqual([200, true])
  expect(await subscriptionsOf(signedIn)).toHaveLength(2)
  expect((await click(at)).status).toBe(204)
  expect((await subscriptionsOf(signedIn)).map(({ topic }) => topic)).toEqual([other.resourceIdentifier])
  expect((await click(at)).status).toBe(204)
  await report(server, oven, 41)
  await office.until(ann, 3)
  expect(await untilAllTold(admin)).toMatchObject({ sent: 3 })
})

test('killed again and again in a storm: everybody hears of everything, and each time of one thing twice at most', async () => {
  await begin({ MAILS_PER_HOUR_MAX: '200' })
  const people = Array.from({ length: 5 }, (_, index) => `reader-${index}`)
  for (const name of people) {
    await subscribe(await admin.bringIn(name, ['viewer'], { email: `${name}@acme.example` }), heat)
  }
  const kills = 3
  const stored: string[] = []
  for (let round = 0; round < kills; round++) {
    for (let degrees = 40; degrees < 60; degrees++) {
      await report(server, oven, degrees + round * 100)
      stored.push(`OVEN ${degrees + round * 100}`)
    }
    const { length } = office.arrived
    await until(() => office.arrived.length >= length + 20, 'some of the storm to be told')
    await killed()
  }
  await untilAllTold(admin)
  for (const name of people) {
    const mails = office.to(`${name}@acme.example`)
    const once = [...new Map(mails.map((mail) => [mail.id, mail])).values()]
    expect(once.map(({ subject }) => subject)).toEqual(stored)
    expect(mails.length - once.length).toBeLessThanOrEqual(kills)
  }
  expect(await outboxOf(admin)).toMatchObject({ digests: 0, failures: [] })
})
