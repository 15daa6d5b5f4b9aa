import { SMTPServer } from 'smtp-server'
import { serveFunctions } from '#bench/harness/remote-functions'

/**
 * A mail server that accepts everything and counts mails by recipient, in its own process, so that its cost is not the
 * load's.
 */
export interface MailCounts {
  readonly mails: number
  readonly digests: number
  readonly recipients: number
  /** To one recipient. */
  readonly mailsLeast: number
  readonly mailsMost: number
}

/** More than the header of a mail. */
const headerBytesMax = 16 * 1024
const digestSubject = /^Subject: \d+ notifications?\r?$/m
const messageId = /^Message-ID: (<[^>]+>)\r?$/m

const counts = new Map<string, { mails: number; digests: number }>()
let fault: string | undefined

serveFunctions({
  async listen(port: number) {
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      disableReverseLookup: true,
      logger: false,
      onData: (stream, { envelope }, done) => {
        const pieces: Buffer[] = []
        let bytes = 0
        stream.on('data', (piece: Buffer) => {
          if (bytes < headerBytesMax) pieces.push(piece)
          bytes += piece.length
        })
        stream.on('end', () => {
          const [header = ''] = Buffer.concat(pieces).toString('latin1').split('\r\n\r\n')
          count(
            envelope.rcptTo.map(({ address }) => address),
            header,
          )
          done()
        })
      },
    })
    // A connection that breaks is an error of the sender.
    server.on('error', () => {})
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  },

  seen(): MailCounts {
    if (fault !== undefined) throw new Error(fault)
    const all = [...counts.values()]
    const mails = all.map((each) => each.mails)
    return {
      mails: mails.reduce((sum, each) => sum + each, 0),
      digests: all.reduce((sum, each) => sum + each.digests, 0),
      recipients: all.length,
      mailsLeast: all.length === 0 ? 0 : Math.min(...mails),
      mailsMost: Math.max(0, ...mails),
    }
  },

  clear: () => counts.clear(),
})

function count(recipients: readonly string[], header: string): void {
  const [recipient = ''] = recipients
  if (recipients.length !== 1) fault ??= `one mail to ${recipients.length} recipients`
  if (!messageId.test(header)) fault ??= `a mail without a Message-ID: ${header.slice(0, 300)}`
  const counted = counts.get(recipient) ?? { mails: 0, digests: 0 }
  counted.mails++
  if (digestSubject.test(header)) counted.digests++
  counts.set(recipient, counted)
}
