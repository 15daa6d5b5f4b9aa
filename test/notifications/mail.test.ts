import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { realWorld } from '#app/world'
import { emlMail } from '#notifications/eml-mail'
import { type MailParts, mailOf } from '#notifications/mail'
import { smtpMail } from '#notifications/smtp-mail'
import { mailSuite } from '#test/notifications/mail-suite'
import { MemoryMail } from '#test/notifications/memory-mail'
import { headerOf, readMail } from '#test/notifications/read-mail'
import { RealSmtpServer } from '#test/notifications/real-smtp-server'

function arrivedOf(raw: string) {
  const { headers, subject, text, html } = readMail(raw)
  return { id: headerOf(headers, 'message-id').replace(/^<|>$/g, ''), to: headerOf(headers, 'to'), subject, text, html }
}

describe('mail by SMTP', () => {
  mailSuite(async (from) => {
    const server = await RealSmtpServer.open()
    const mail = smtpMail({ url: `smtp://127.0.0.1:${server.port}`, from, world: realWorld })
    const arrived = async () => server.received.map(({ raw }) => arrivedOf(raw))
    return { mail, arrived, close: () => server.close() }
  })
})

describe('mail in a folder', () => {
  mailSuite(async (from) => {
    const place = await mkdtemp(join(tmpdir(), 'mail-'))
    const folder = join(place, 'outbox')
    const mail = emlMail({
      folder,
      from,
      failed: (error) => {
        throw error
      },
    })
    const arrived = async () => {
      const names = (await readdir(folder)).sort()
      return Promise.all(names.map(async (name) => arrivedOf(await readFile(join(folder, name), 'latin1'))))
    }
    return { mail, arrived, close: () => rm(place, { recursive: true }) }
  })
})

const mail = new MemoryMail('Devices <devices@Devices.example>')
const parts: MailParts = {
  mail,
  to: 'ann@people.example',
  seed: 'acme\nfunction\n1\nann',
  date: 1_700_000_000_000,
  text: { subject: 'Too hot', text: 'It is 91.5 °C.' },
}
const url = 'https://devices.example/api/v1/notifications/unsubscribe/3Xc8rZy1Le?tenant=acme&user=crn%23user%3Aa&sig=x'

test('a mail contains exactly its parts', () => {
  expect(mailOf(parts)).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{32}@devices\.example$/),
    date: 1_700_000_000_000,
    from: 'Devices <devices@Devices.example>',
    to: 'ann@people.example',
    subject: 'Too hot',
    text: 'It is 91.5 °C.',
  })
})

test('the Message-ID depends on the seed only', () => {
  const { id } = mailOf(parts)
  expect(mailOf({ ...parts, to: 'bob@people.example', text: { subject: 'x', text: 'y' }, date: 1 }).id).toBe(id)
  expect(mailOf({ ...parts, seed: 'acme\nfunction\n1\nbob' }).id).not.toBe(id)
})

test.each([
  [url, true],
  [url.replace('https', 'http'), false],
])('the subscription can be ended at %s', (unsubscribeUrl, isOneClick) => {
  const message = mailOf({ ...parts, listId: 'f.devices.example', unsubscribeUrl })
  expect(message).toMatchObject({ listId: 'f.devices.example', unsubscribe: { url: unsubscribeUrl, isOneClick } })
})

test.each([
  ['too long for a line', `https://${'a'.repeat(900)}.example/`],
  ['of another kind', 'javascript:alert(1)'],
  ['with a line break', 'https://a.example\r\nBcc: bob@evil.example/'],
  ['with a space', 'https://a .example/'],
  ['with an angle bracket', 'https://a.example>,<mailto:bob@evil.example/'],
  ['not in ASCII', 'https://münchen.example/'],
  ['without anything', 'https://'],
])('an address %s is left out', (_, unsubscribeUrl) => {
  expect(mailOf({ ...parts, unsubscribeUrl })).not.toHaveProperty('unsubscribe')
})
