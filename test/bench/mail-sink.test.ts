import { createTransport } from 'nodemailer'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MailSink } from '#bench/load/mail-sink'
import { freePort } from '#bench/server-process'
import { digestOf } from '#notifications/digest'
import type { Mail } from '#outbound/mail'
import { smtpMail } from '#outbound/smtp-mail'
import { realWorld } from '#src/world'
import { sampleMail } from '#test/outbound/sample-mail'

let port: number
let sink: MailSink
let mail: Mail

beforeEach(async () => {
  port = await freePort()
  sink = await MailSink.open(port)
  mail = smtpMail({ url: `smtp://127.0.0.1:${port}`, from: 'Devices <devices@devices.example>', world: realWorld })
})

afterEach(async () => {
  await mail.close()
  await sink.close()
})

const [ann, bob] = ['ann@people.example', 'bob@people.example'] as const
const line = { at: 1_700_000_000_000, subject: 'Boiler' }
const digests = [[line], [line, line]].map((lines) => digestOf([{ name: 'Heat', lines, more: 0 }], ''))

test('mails are counted by recipient, digests among them', async () => {
  expect(sink.seen).toEqual({
    mails: 0,
    digests: 0,
    recipients: 0,
    mailsLeast: 0,
    mailsMost: 0,
    repeats: 0,
  })
  for (const n of [1, 2]) await mail.send(sampleMail(n, { to: ann }))
  await mail.send(sampleMail(3, { to: bob, subject: '2 notifications, and more', text: 'Subject: 2 notifications' }))
  for (const [place, digest] of digests.entries()) await mail.send(sampleMail(10 + place, { ...digest, to: ann }))
  expect(sink.seen).toEqual({
    mails: 5,
    digests: 2,
    recipients: 2,
    mailsLeast: 1,
    mailsMost: 4,
    repeats: 0,
  })
})

test('a mail that came before is a repeat, also of one from before the count began', async () => {
  await mail.send(sampleMail(1))
  sink.clear()
  expect(sink.seen.mails).toBe(0)
  await mail.send(sampleMail(1))
  await mail.send(sampleMail(2))
  expect(sink.seen).toMatchObject({ mails: 2, repeats: 1, mailsMost: 2 })
  expect(sink.seen.fault).toBeUndefined()
})

test('a mail to two at once is a fault', async () => {
  const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true })
  await transport.sendMail({ from: 'devices@devices.example', to: [ann, bob], subject: 'Boiler', text: 'Hot' })
  transport.close()
  expect(sink.seen.fault).toBe('a mail went to 2 at once')
})
