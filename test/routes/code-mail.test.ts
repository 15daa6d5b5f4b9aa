import { afterAll, beforeEach, expect, test } from 'vitest'
import { answerOf, identityOn, SignedInUser } from '#test/blackbox/signed-in-user'
import { StartedServer } from '#test/blackbox/started-server'
import { readMail } from '#test/notifications/read-mail'
import { RealSmtpServer } from '#test/notifications/real-smtp-server'

/** Links with codes in mails to users, and the addresses that they set for themselves. */

const mailServer = await RealSmtpServer.open()
const smtp = { SMTP_URL: `smtp://127.0.0.1:${mailServer.port}`, PUBLIC_URL: 'https://devices.example/fleet' }
const server = await StartedServer.here({ ...identityOn, ...smtp })
afterAll(async () => {
  await server.finish()
  await mailServer.close()
})
const admin = await SignedInUser.signIn(server)
beforeEach(() => {
  mailServer.received.length = 0
  mailServer.onMail = () => {}
})

/** The subject of the only mail, and the name and code in its link. */
function onlyMail() {
  const [mail, another] = mailServer.received
  expect([mail?.to.length, another]).toEqual([1, undefined])
  const { subject, text } = readMail(mail?.raw ?? '')
  const [, name, code] = /https:\/\/devices\.example\/fleet\/#\/sign-up\/([^/\s]+)\/(\S+)/.exec(text ?? '') ?? []
  return { to: mail?.to[0], subject, name: decodeURIComponent(name ?? ''), code }
}

const signUp = (name: string, code: string | undefined, password: string) =>
  server.ask('/iam/signup', { method: 'POST', body: { name, code, password } })

test('an invitation and a password reset are mailed with a link that works once', async () => {
  const invited = await admin.post('/iam/users', { name: 'Ann Ä', email: 'ann@acme.example', roles: ['viewer'] })
  const { code } = invited.json as { code: string }
  expect(invited.json).toMatchObject({ mailed: true })
  expect(onlyMail()).toEqual({ to: 'ann@acme.example', subject: 'Your invitation', name: 'Ann Ä', code })
  expect((await signUp('Ann Ä', code, 'first password')).status).toBe(201)
  expect((await signUp('Ann Ä', code, 'other password')).status).toBe(401)

  mailServer.received.length = 0
  const renewed = await admin.post(`/iam/users/${encodeURIComponent('Ann Ä')}/code`)
  expect(renewed.json).toMatchObject({ mailed: true })
  const mail = onlyMail()
  expect(mail.subject).toBe('Choose a new password')
  expect((await signUp('Ann Ä', mail.code, 'second password')).status).toBe(201)
})

test('a mail that is refused is reported; a user without an address gets none', async () => {
  mailServer.onMail = () => {
    throw new Error('refused')
  }
  const bob = { name: 'bob', email: 'bob@acme.example', roles: [] }
  expect((await admin.post('/iam/users', bob)).json).toMatchObject({ code: expect.any(String), mailed: false })
  mailServer.received.length = 0
  expect((await admin.post('/iam/users', { name: 'carl', roles: [] })).json).not.toHaveProperty('mailed')
  expect(mailServer.received).toEqual([])
})

test('users change their own address with their password', async () => {
  const dora = await admin.bringIn('dora', ['viewer'])
  const put = (current: string, email: string | null) => dora.put('/auth/email', { current, email })
  const shown = async () => ((await dora.get('/iam/me')).json as { email?: string }).email
  const password = 'password of dora'
  expect((await put('not the password', 'dora@acme.example')).status).toBe(401)
  expect(answerOf(await put(password, 'ANN@acme.example'))).toEqual([409, { error: 'the email is taken' }])
  expect(await shown()).toBeUndefined()
  expect((await put(password, 'dora@acme.example')).status).toBe(204)
  expect(await shown()).toBe('dora@acme.example')
  expect((await put(password, null)).status).toBe(204)
  expect(await shown()).toBeUndefined()
})
