import { afterEach, beforeEach, expect, test } from 'vitest'
import { closedCode, type Mail, type MailMessage, MailRefused, mailsAtOnceMax } from '#notifications/mail'
import { sampleMail } from '#test/notifications/sample-mail'

interface ArrivedMail extends Pick<MailMessage, 'id' | 'to' | 'subject' | 'text'> {
  readonly html: string | undefined
}

/** An implementation with its destination. */
export interface MailFixture {
  readonly mail: Mail
  /** The arrived mails in order, as a mail program shows them. */
  arrived(): Promise<readonly ArrivedMail[]>
  close(): Promise<void>
}

/** The contract of every implementation of `Mail`. */
export function mailSuite(open: (from: string) => Promise<MailFixture>): void {
  let fixture: MailFixture

  beforeEach(async () => {
    fixture = await open('Ärzte & Co. <devices@Devices.example>')
    await fixture.mail.open()
  })

  afterEach(async () => {
    await fixture.mail.close()
    await fixture.close()
  })

  function read({ id, to, subject, text, html }: MailMessage): ArrivedMail {
    return { id, to, subject, text, html }
  }

  test('has sender and host', () => {
    expect(fixture.mail).toMatchObject({ from: 'Ärzte & Co. <devices@Devices.example>', host: 'devices.example' })
  })

  test.each<[name: string, more: Partial<MailMessage>]>([
    ['a plain mail', {}],
    ['a mail with HTML', { html: '<p>It is <b>too</b> hot &amp; wet.</p>' }],
    ['other scripts', { subject: 'Übertemperatur 🔥 温度', text: 'Grüße\n温度 🔥', html: '<p>Grüße 🔥</p>' }],
    ['a long subject', { subject: `${'sehr heiß '.repeat(25)}!` }],
    ['a subject that looks encoded', { subject: '=?utf-8?Q?not_this?= and =?utf-8?B?bm90IHRoYXQ=?=' }],
    ['lines of dots', { text: '.\n..\n.text\n\n.' }],
    ['a very long line', { text: 'x'.repeat(5_000) }],
    ['a large mail', { text: 'Zeile für Zeile\n'.repeat(8_000).trimEnd() }],
    ['an empty text', { text: '' }],
  ])('delivers %s', async (_, more) => {
    const message = sampleMail(1, { from: fixture.mail.from, ...more })
    await fixture.mail.send(message)
    expect(await fixture.arrived()).toEqual([read(message)])
  })

  test('delivers many mails, up to four at once', async () => {
    const messages = Array.from({ length: 100 }, (_, n) => sampleMail(n, { from: fixture.mail.from }))
    const waiting = [...messages]
    const send = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) await fixture.mail.send(next)
    }
    await Promise.all(Array.from({ length: mailsAtOnceMax }, send))
    const byId = (mails: readonly ArrivedMail[]) => [...mails].sort((a, b) => (a.id < b.id ? -1 : 1))
    expect(byId(await fixture.arrived())).toEqual(byId(messages.map(read)))
  })

  test('closing finishes mails in flight and refuses others', async () => {
    const message = sampleMail(1, { from: fixture.mail.from })
    const sent = fixture.mail.send(message)
    await fixture.mail.close()
    await sent
    expect(await fixture.arrived()).toEqual([read(message)])
    const refused = await fixture.mail.send(sampleMail(2)).catch((error: unknown) => error)
    expect(refused).toEqual(new MailRefused('transport', closedCode))
    expect(await fixture.arrived()).toHaveLength(1)
  })
}
