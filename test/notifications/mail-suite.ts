import { afterEach, beforeEach, expect, test } from 'vitest'
import { closedCode, type Mail, type MailMessage, MailRefused, mailsAtOnceMax } from '#notifications/mail'
import { sampleMail } from '#test/notifications/sample-mail'

interface ArrivedMail extends Pick<MailMessage, 'id' | 'to' | 'subject' | 'text'> {
  readonly html: string | undefined
}

/** An implementation on its own ground. */
export interface MailGround {
  readonly mail: Mail
  /** What arrived, in order: of each what whoever gets it reads. */
  arrived(): Promise<readonly ArrivedMail[]>
  close(): Promise<void>
}

/** What every way of handing mail over does. */
export function mailSuite(open: (from: string) => Promise<MailGround>): void {
  let ground: MailGround

  beforeEach(async () => {
    ground = await open('Ärzte & Co. <devices@Devices.example>')
    await ground.mail.open()
  })

  afterEach(async () => {
    await ground.mail.close()
    await ground.close()
  })

  function read({ id, to, subject, text, html }: MailMessage): ArrivedMail {
    return { id, to, subject, text, html }
  }

  test('knows who mail is from', () => {
    expect(ground.mail).toMatchObject({ from: 'Ärzte & Co. <devices@Devices.example>', host: 'devices.example' })
  })

  test.each<[what: string, more: Partial<MailMessage>]>([
    ['a plain mail', {}],
    ['one with HTML', { html: '<p>It is <b>too</b> hot &amp; wet.</p>' }],
    ['other scripts', { subject: 'Übertemperatur 🔥 温度', text: 'Grüße\n温度 🔥', html: '<p>Grüße 🔥</p>' }],
    ['a long subject', { subject: `${'sehr heiß '.repeat(25)}!` }],
    ['a subject that looks encoded', { subject: '=?utf-8?Q?not_this?= and =?utf-8?B?bm90IHRoYXQ=?=' }],
    ['lines of dots', { text: '.\n..\n.text\n\n.' }],
    ['a line without end', { text: 'x'.repeat(5_000) }],
    ['a large one', { text: 'Zeile für Zeile\n'.repeat(8_000).trimEnd() }],
    ['nothing to say', { text: '' }],
  ])('hands over %s', async (_, more) => {
    const message = sampleMail(1, { from: ground.mail.from, ...more })
    await ground.mail.send(message)
    expect(await ground.arrived()).toEqual([read(message)])
  })

  test('hands over as many as come, up to four at once', async () => {
    const messages = Array.from({ length: 100 }, (_, n) => sampleMail(n, { from: ground.mail.from }))
    const waiting = [...messages]
    const send = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) await ground.mail.send(next)
    }
    await Promise.all(Array.from({ length: mailsAtOnceMax }, send))
    const byId = (mails: readonly ArrivedMail[]) => [...mails].sort((a, b) => (a.id < b.id ? -1 : 1))
    expect(byId(await ground.arrived())).toEqual(byId(messages.map(read)))
  })

  test('ends what is under way when it closes, and takes nothing more', async () => {
    const message = sampleMail(1, { from: ground.mail.from })
    const sent = ground.mail.send(message)
    await ground.mail.close()
    await sent
    expect(await ground.arrived()).toEqual([read(message)])
    const refused = await ground.mail.send(sampleMail(2)).catch((error: unknown) => error)
    expect(refused).toEqual(new MailRefused('transport', closedCode))
    expect(await ground.arrived()).toHaveLength(1)
  })
}
