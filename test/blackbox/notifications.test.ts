import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeFunction, putTemplate, subscribe } from '#test/blackbox/notification-calls'
import { type Credentials, report, SignedInUser, startWithIdentity } from '#test/blackbox/signed-in-user'
import { ServerRun, type StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { readMail } from '#test/notifications/read-mail'
import { RealSmtpServer } from '#test/notifications/real-smtp-server'
import { folderOfTest } from '#test/temporary-folder'

/** Mails when the process ends. `test/notifications` tests every step of a delivery. Contract 5.7. */

let mailServer: RealSmtpServer
let server: StartedServer
let admin: SignedInUser
let oven: Credentials

beforeEach(async () => {
  mailServer = await RealSmtpServer.open({ disabledCommands: ['STARTTLS'], closeTimeout: 50 })
  server = await startWithIdentity({ SMTP_URL: `smtp://127.0.0.1:${mailServer.port}` })
  admin = await SignedInUser.signIn(server)
  await putTemplate(admin)
  await subscribe(await admin.bringIn('ann', ['viewer'], { email: 'ann@acme.example' }), await makeFunction(admin))
  oven = await admin.makeDevice('OVEN')
  await report(server, oven, 20)
})
afterEach(async () => {
  await server?.finish()
  await mailServer?.close()
})

const subjects = () => mailServer.received.map(({ raw }) => readMail(raw).subject)
const untilArrived = (count: number) => until(() => mailServer.received.length >= count, `${count} mails`)

/** The mail server answers no mail until the returned function is called. */
function holdAnswers(): () => void {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  mailServer.onMail = () => held
  return () => {
    mailServer.onMail = () => {}
    release()
  }
}

test('a server that stops waits for the answer to a mail', async () => {
  const release = holdAnswers()
  await report(server, oven, 40)
  await untilArrived(1)
  const ending = server.stop()
  await until(() => server.run.lines.some(({ msg }) => msg === 'stopping'), 'it to stop')
  release()
  expect(await ending).toBe(0)
  expect(subjects()).toEqual(['OVEN 40'])
})

test('a start fails if the folder for mails cannot be created', async () => {
  const folder = folderOfTest()
  writeFileSync(join(folder, 'outbox'), 'not a folder')
  const run = new ServerRun({ DATA_DIR: folder })
  expect(await run.ended).toBe(1)
  expect(run.lines.filter(({ level }) => level === 'fatal').map(({ msg }) => msg)).toEqual([
    `${join(folder, 'outbox')}: mails cannot be written here (EEXIST): set SMTP_URL, or repair the folder`,
  ])
  expect(run.output).not.toContain('    at ')
})
