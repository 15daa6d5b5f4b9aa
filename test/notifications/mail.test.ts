import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'vitest'
import { realWorld } from '#app/world'
import { emlMail } from '#notifications/eml-mail'
import { smtpMail } from '#notifications/smtp-mail'
import { mailSuite } from '#test/notifications/mail-suite'
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
