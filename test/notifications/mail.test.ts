import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { realWorld } from '#app/world'
import { emlMail } from '#notifications/eml-mail'
import { MailRefused } from '#notifications/mail'
import { smtpMail } from '#notifications/smtp-mail'
import { mailSuite } from '#test/notifications/mail-suite'
import { MemoryMail } from '#test/notifications/memory-mail'
import { headerOf, readMail } from '#test/notifications/read-mail'
import { RealSmtpServer } from '#test/notifications/real-smtp-server'
import { sampleMail } from '#test/notifications/sample-mail'

function arrivedOf(raw: string) {
  const { headers, subject, text, html } = readMail(raw)
  return { id: headerOf(headers, 'message-id').replace(/^<|>$/g, ''), to: headerOf(headers, 'to'), subject, text, html }
}

describe('mail by SMTP', () => {
  mailSuite(async (from) => {
    const server = await RealSmtpServer.open()
    const mail = smtpMail({ url: `smtp://127.0.0.1:${server.port}`, from, world: realWorld })
    const arrived = async () => server.got.map(({ raw }) => arrivedOf(raw))
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

describe('mail in memory', () => {
  mailSuite(async (from) => {
    const mail = new MemoryMail(from)
    const arrived = async () => mail.sent.map(({ id, to, subject, text, html }) => ({ id, to, subject, text, html }))
    return { mail, arrived, close: async () => {} }
  })

  test('is refused as it is told to', async () => {
    const mail = new MemoryMail()
    mail.answering = ({ subject }) => {
      if (subject === 'Boiler 1') throw new MailRefused('recipient', '550')
    }
    await expect(mail.send(sampleMail(1))).rejects.toMatchObject({ kind: 'recipient', code: '550' })
    await mail.send(sampleMail(2))
    expect(mail.sent).toEqual([sampleMail(2)])
  })
})
