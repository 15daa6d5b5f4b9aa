import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { realWorld } from '#app/world'
import { type Mail, type MailFault, MailRefused } from '#notifications/mail'
import { type SmtpTimeouts, smtpMail, smtpOptionsOf } from '#notifications/smtp-mail'
import { RealSmtpServer } from '#test/notifications/real-smtp-server'
import { RefusingSmtpServer, type SmtpAnswer, type SmtpStep } from '#test/notifications/refusing-smtp-server'
import { sampleMail } from '#test/notifications/sample-mail'

const from = 'devices@devices.example'
const patient: SmtpTimeouts = {
  connectMs: 60_000,
  greetingMs: 60_000,
  silenceMs: 60_000,
  wholeMs: 60_000,
  closeMs: 100,
}
const short: SmtpTimeouts = { connectMs: 5_000, greetingMs: 200, silenceMs: 200, wholeMs: 5_000, closeMs: 5_000 }

const opened: Mail[] = []

function mailTo(url: string, timeouts = { ...patient, closeMs: 5_000 }): Mail {
  const mail = smtpMail({ url, from, world: realWorld, timeouts })
  opened.push(mail)
  return mail
}

async function refusalOf(mail: Mail, n = 0): Promise<MailRefused | undefined> {
  try {
    await mail.send(sampleMail(n))
    return undefined
  } catch (error) {
    expect(error).toBeInstanceOf(MailRefused)
    return error as MailRefused
  }
}

afterEach(async () => {
  for (const mail of opened.splice(0)) await mail.close()
})

describe('a failing server', () => {
  let server: RefusingSmtpServer

  beforeEach(async () => {
    server = await RefusingSmtpServer.open()
  })

  afterEach(() => server.close())

  const url = () => `smtp://me:secret@127.0.0.1:${server.port}`

  const rows: [step: SmtpStep, answer: SmtpAnswer, kind: MailFault, code: string][] = [
    ['GREETING', '554 no service', 'transport', '554'],
    ['GREETING', '421 busy', 'transport', '421'],
    ['GREETING', 'drop', 'transport', 'CONNECTION'],
    ['GREETING', 'silence', 'transport', 'TIMEOUT'],
    ['EHLO', '421 busy', 'transport', '421'],
    ['EHLO', 'drop', 'transport', 'CONNECTION'],
    ['EHLO', 'silence', 'transport', 'TIMEOUT'],
    ['AUTH', '535 wrong', 'transport', '535'],
    ['AUTH', '454 later', 'transport', '454'],
    ['AUTH', '421 busy', 'transport', '421'],
    ['AUTH', 'drop', 'transport', 'CONNECTION'],
    ['AUTH', 'silence', 'transport', 'TIMEOUT'],
    ['MAIL', '553 not you', 'transport', '553'],
    ['MAIL', '451 later', 'transport', '451'],
    ['MAIL', '530 sign in first', 'transport', '530'],
    ['MAIL', '421 busy', 'transport', '421'],
    ['MAIL', 'drop', 'transport', 'CONNECTION'],
    ['MAIL', 'silence', 'transport', 'TIMEOUT'],
    ['RCPT', '550 ann@people.example is unknown', 'recipient', '550'],
    ['RCPT', '553 no such name', 'recipient', '553'],
    ['RCPT', '450 mailbox is busy', 'later', '450'],
    ['RCPT', '452 mailbox is full', 'later', '452'],
    ['RCPT', '503 bad sequence', 'later', '503'],
    ['RCPT', '530 sign in first', 'transport', '530'],
    ['RCPT', '421 too much for them', 'later', '421'],
    ['RCPT', '454 not now', 'later', '454'],
    ['RCPT', 'drop', 'transport', 'CONNECTION'],
    ['RCPT', 'silence', 'transport', 'TIMEOUT'],
    ['DATA', '554 no', 'message', '554'],
    ['DATA', '451 later', 'later', '451'],
    ['DATA', '421 busy', 'later', '421'],
    ['DATA', 'drop', 'transport', 'CONNECTION'],
    ['DATA', 'silence', 'transport', 'TIMEOUT'],
    ['END', '554 spam', 'message', '554'],
    ['END', '552 too large', 'message', '552'],
    ['END', '451 later', 'later', '451'],
    ['END', '421 busy', 'later', '421'],
    ['END', 'drop', 'later', 'CONNECTION'],
    ['END', 'silence', 'later', 'TIMEOUT'],
  ]

  test.each(rows)('at %s: %s is %s %s, and the next mail is sent', async (step, answer, kind, code) => {
    server.answerTo = (each) => (each === step ? answer : undefined)
    const mail = answer === 'silence' ? mailTo(url(), short) : mailTo(url())
    const refused = await refusalOf(mail)
    expect([refused?.kind, refused?.code]).toEqual([kind, code])
    expect(inspect(refused, { depth: 10, showHidden: true })).not.toMatch(/ann@|people\.example|secret|devices@/)
    server.answerTo = () => undefined
    expect(await refusalOf(mail, 1)).toBeUndefined()
  })

  test('HELO is used if EHLO is unknown and no password is needed', async () => {
    server.answerTo = (step) => (step === 'EHLO' ? '500 what' : undefined)
    expect(await refusalOf(mailTo(`smtp://127.0.0.1:${server.port}`))).toBeUndefined()
  })

  test('a server that answers too slowly times out', async () => {
    server.answerTo = (step) => (step === 'MAIL' ? 'silence' : undefined)
    const mail = mailTo(url(), { ...patient, wholeMs: 200 })
    expect(await refusalOf(mail)).toMatchObject({ kind: 'transport', code: 'TIMEOUT' })
    server.answerTo = (step) => (step === 'END' ? 'silence' : undefined)
    expect(await refusalOf(mail, 1)).toMatchObject({ kind: 'later', code: 'TIMEOUT' })
    server.answerTo = () => undefined
    expect(await refusalOf(mail, 2)).toBeUndefined()
  })

  test('a server without TLS times out', async () => {
    server.answerTo = () => 'silence'
    const mail = mailTo(`smtps://127.0.0.1:${server.port}`, { ...patient, connectMs: 200 })
    expect(await refusalOf(mail)).toMatchObject({ kind: 'transport', code: 'TIMEOUT' })
  })

  test('a server that restarted gets the next mail', async () => {
    const { port } = server
    await server.close()
    const mail = mailTo(`smtp://127.0.0.1:${port}`)
    expect(await refusalOf(mail)).toMatchObject({ kind: 'transport', code: 'CONNECTION' })
    await server.listen(port)
    expect(await refusalOf(mail, 1)).toBeUndefined()
  })

  test('a mail to an unknown host is refused with code DNS', async () => {
    const refused = await refusalOf(mailTo('smtp://no-such-host.invalid', patient))
    expect(refused).toMatchObject({ kind: 'transport', code: 'DNS' })
  })

  test.each<[name: string, drops: readonly number[], kind: MailFault | undefined]>([
    ['the reused connection was closed', [2], undefined],
    ['the new connection was closed too', [2, 3], 'transport'],
  ])('a mail whose connection was closed is sent again, once: %s', async (_, drops, kind) => {
    server.answerTo = (step, nth) => (step === 'MAIL' && drops.includes(nth) ? 'drop' : undefined)
    const mail = mailTo(url())
    expect(await refusalOf(mail)).toBeUndefined()
    expect((await refusalOf(mail, 1))?.kind).toBe(kind)
  })

  test('a mail whose data was sent is not retried automatically', async () => {
    const mail = mailTo(url())
    await mail.send(sampleMail(0))
    server.answerTo = (step) => (step === 'END' ? 'drop' : undefined)
    expect(await refusalOf(mail, 1)).toMatchObject({ kind: 'later' })
    expect(server.mails).toBe(2)
  })

  test.each<[step: SmtpStep, kind: MailFault]>([
    ['GREETING', 'transport'],
    ['RCPT', 'transport'],
    ['END', 'later'],
  ])('a server that hangs at %s does not delay closing', async (step, kind) => {
    const mail = mailTo(url(), patient)
    const isSilent = new Promise<void>((resolve) => {
      server.answerTo = (each) => {
        if (each !== step) return undefined
        resolve()
        return 'silence'
      }
    })
    const refused = refusalOf(mail)
    await isSilent
    await mail.close()
    expect(await refused).toMatchObject({ kind, code: 'CONNECTION' })
  })

  test('a refusal keeps the connection', async () => {
    server.answerTo = (step) => (step === 'RCPT' ? '550 unknown' : undefined)
    const mail = mailTo(url())
    for (let n = 0; n < 3; n++) expect(await refusalOf(mail, n)).toMatchObject({ kind: 'recipient' })
    expect(server.connections).toBe(1)
  })
})

test('connections are at most four, reused, and replaced after a hundred mails', async () => {
  const server = await RealSmtpServer.open()
  const mail = mailTo(`smtp://127.0.0.1:${server.port}`, patient)
  await Promise.all(Array.from({ length: 40 }, (_, n) => mail.send(sampleMail(n))))
  expect(server.connectionsMade).toBeLessThanOrEqual(4)
  for (let n = 40; n < 500; n++) await mail.send(sampleMail(n))
  expect(server.received).toHaveLength(500)
  expect(server.connectionsMax).toBeLessThanOrEqual(4)
  expect(server.connectionsMade).toBeGreaterThan(4)
  await mail.close()
  await server.close()
})

describe('a password', () => {
  const offering = { hideSTARTTLS: false }

  test.each<[name: string, open: () => Promise<RealSmtpServer>, isSecure: boolean]>([
    ['unencrypted to this machine', () => RealSmtpServer.open(), false],
    ['by TLS if this machine offers it, with any certificate', () => RealSmtpServer.open(offering), true],
  ])('is sent %s', async (_, open, isSecure) => {
    const server = await open()
    const mail = mailTo(`smtp://m%C3%A9:pa%40ss@127.0.0.1:${server.port}`, patient)
    expect(await refusalOf(mail)).toBeUndefined()
    expect(server.signedIn).toEqual([{ user: 'mé', password: 'pa@ss' }])
    expect(server.received).toMatchObject([{ isSecure }])
    await mail.close()
    await server.close()
  })

  // 0.0.0.0 reaches this machine, but does not count as local.
  test.each<[name: string, open: () => Promise<RealSmtpServer>, url: string]>([
    ['without TLS', () => RealSmtpServer.open(), 'smtp://me:secret@0.0.0.0'],
    ['to a self-signed certificate', () => RealSmtpServer.open(offering), 'smtp://me:secret@0.0.0.0'],
    [
      'to a self-signed certificate with implicit TLS',
      () => RealSmtpServer.open({ secure: true }),
      'smtps://me:secret@127.0.0.1',
    ],
  ])('is not sent %s', async (_, open, url) => {
    const server = await open()
    const mail = mailTo(`${url}:${server.port}`, patient)
    expect(await refusalOf(mail)).toMatchObject({ kind: 'transport' })
    expect(server.signedIn).toEqual([])
    expect(server.received).toEqual([])
    await mail.close()
    await server.close()
  })

  test('mail without a password is sent without TLS if none is offered', async () => {
    const server = await RealSmtpServer.open()
    const mail = mailTo(`smtp://0.0.0.0:${server.port}`, patient)
    expect(await refusalOf(mail)).toBeUndefined()
    expect(server.received).toMatchObject([{ isSecure: false, from, to: ['ann@people.example'] }])
    await mail.close()
    await server.close()
  })
})

const usual = { port: 587, secure: false, requireTLS: false, tls: { rejectUnauthorized: true } }
const secure = { port: 465, secure: true }
const unchecked = { tls: { rejectUnauthorized: false } }
const auth = { user: 'a', pass: 'b' }

test.each([
  ['smtp://mail.example', { host: 'mail.example' }],
  ['smtp://mail.example:25/', { host: 'mail.example', port: 25 }],
  ['smtps://mail.example', { host: 'mail.example', ...secure }],
  ['smtp://localhost:1025', { host: 'localhost', port: 1025, ...unchecked }],
  ['smtp://127.1.2.3', { host: '127.1.2.3', ...unchecked }],
  ['smtp://[::1]', { host: '::1', ...unchecked }],
  ['smtps://localhost', { host: 'localhost', ...secure }],
  ['smtp://a:b@mail.example', { host: 'mail.example', requireTLS: true, auth }],
  ['smtps://a%40b:%2F%3A@mail.example', { host: 'mail.example', ...secure, auth: { user: 'a@b', pass: '/:' } }],
  ['smtp://a:b@localhost', { host: 'localhost', auth, ...unchecked }],
  ['smtp://a:b@localhost.example', { host: 'localhost.example', requireTLS: true, auth }],
])('the URL %s is read as its options', (url, options) => {
  expect(smtpOptionsOf(url)).toEqual({ ...usual, ...options })
})
