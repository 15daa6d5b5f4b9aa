import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeDevice } from '#test/blackbox/alarm-calls'
import { makeFunction, putWords, subscribe, untilAllTold, untilOutbox } from '#test/blackbox/notification-calls'
import { type Credentials, Person, report, startWithIdentity } from '#test/blackbox/people'
import { ServerRun, type StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { readMail } from '#test/notifications/read-mail'
import { RealSmtpServer } from '#test/notifications/real-smtp-server'

/** Mails and the end of the process. What becomes of a mail at each step is shown in `test/notifications`. Contract 5.7. */

let office: RealSmtpServer
let server: StartedServer
let admin: Person
let oven: Credentials

beforeEach(async () => {
  // A server that leaves does not wait for connections that are kept open.
  office = await RealSmtpServer.open({ disabledCommands: ['STARTTLS'], closeTimeout: 50 })
  server = await startWithIdentity({ SMTP_URL: `smtp://127.0.0.1:${office.port}` })
  admin = await Person.signIn(server)
  await putWords(admin)
  await subscribe(await admin.bringIn('ann', ['viewer'], { email: 'ann@acme.example' }), await makeFunction(admin))
  oven = await makeDevice(admin, 'OVEN')
  await report(server, oven, 20)
})
afterEach(async () => {
  await server?.finish()
  await office?.close()
})

const arrived = () => office.got.map(({ raw }) => readMail(raw))
const subjects = () => arrived().map(({ subject }) => subject)
const untilArrived = (count: number) => until(() => office.got.length >= count, `${count} mails`)

/** No mail is answered until this is called. */
function hold(): () => void {
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  office.answering = () => held
  return () => {
    office.answering = () => {}
    letGo()
  }
}

test('killed while the mail server has not answered: the same mail once more, and after its answer none', async () => {
  hold()
  await report(server, oven, 40)
  await untilArrived(1)
  await server.kill()
  office.answering = () => {}
  await server.startAgain()
  await untilArrived(2)
  const [first, second] = arrived()
  expect(second).toEqual(first)
  expect(first).toMatchObject({ subject: 'OVEN 40', text: 'Heat: 40, was 20' })
  await untilOutbox(admin, { sent: 1 })
  await server.kill()
  await server.startAgain()
  await report(server, oven, 41)
  await untilArrived(3)
  expect(await untilAllTold(admin)).toMatchObject({ sent: 2, digests: 0, failures: [] })
  expect(subjects()).toEqual(['OVEN 40', 'OVEN 40', 'OVEN 41'])
})

test('asked to stop while a mail is on its way: the server waits for the answer, but not for ever', async () => {
  const letGo = hold()
  await report(server, oven, 40)
  await untilArrived(1)
  const ending = server.stop()
  await until(() => server.run.lines.some(({ msg }) => msg === 'stopping'), 'it to stop')
  letGo()
  expect(await ending).toBe(0)
  await server.startAgain()
  hold()
  await report(server, oven, 41)
  await untilArrived(2)
  expect(subjects()).toEqual(['OVEN 40', 'OVEN 41'])
  expect(await server.stop()).toBe(0)
  office.answering = () => {}
})

test('a folder for mails that cannot be made is an error, and nothing starts', async () => {
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
