import { SMTPServer } from 'smtp-server'

/** What came, of all since the count began. A digest is a mail too. */
export interface MailsSeen {
  readonly mails: number
  readonly digests: number
  /** Who got any. */
  readonly recipients: number
  /** To one recipient, of those. */
  readonly mailsLeast: number
  readonly mailsMost: number
  /** Mails that came before, by their Message-ID. */
  readonly repeats: number
  /** What no mail of a subscriber looks like, the first of it. */
  readonly fault?: string
}

interface Count {
  mails: number
  digests: number
}

/** More than the header of a mail. */
const headerBytesMax = 16 * 1024
const digestSubject = /^Subject: \d+ notifications?\r?$/m
const messageId = /^Message-ID: (<[^>]+>)\r?$/m

/** A mail server on this machine that takes everything, and counts it by recipient. */
export class MailSink {
  readonly #server: SMTPServer
  #counts = new Map<string, Count>()
  #messages = new Set<string>()
  #repeats = 0
  #fault: string | undefined

  private constructor() {
    this.#server = new SMTPServer({
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
          this.#got(
            envelope.rcptTo.map(({ address }) => address),
            headerOf(Buffer.concat(pieces)),
          )
          done()
        })
      },
    })
    // What a connection ends with is for whoever made it.
    this.#server.on('error', () => {})
  }

  static async open(port: number): Promise<MailSink> {
    const sink = new MailSink()
    await new Promise<void>((resolve) => sink.#server.listen(port, '127.0.0.1', resolve))
    return sink
  }

  get seen(): MailsSeen {
    const counts = [...this.#counts.values()]
    const mails = counts.map((count) => count.mails)
    const digests = counts.map((count) => count.digests)
    return {
      mails: sumOf(mails),
      digests: sumOf(digests),
      recipients: counts.length,
      mailsLeast: counts.length === 0 ? 0 : Math.min(...mails),
      mailsMost: Math.max(0, ...mails),
      repeats: this.#repeats,
      ...(this.#fault !== undefined && { fault: this.#fault }),
    }
  }

  /** Counts anew; what came before is known. */
  clear(): void {
    this.#counts = new Map()
    this.#repeats = 0
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()))
  }

  #got(recipients: readonly string[], header: string): void {
    const [recipient = ''] = recipients
    const id = messageId.exec(header)?.[1]
    if (recipients.length !== 1) this.#fault ??= `a mail went to ${recipients.length} at once`
    if (id === undefined) this.#fault ??= `a mail has no Message-ID: ${header.slice(0, 300)}`
    else if (this.#messages.has(id)) this.#repeats++
    else this.#messages.add(id)
    const count = this.#counts.get(recipient) ?? { mails: 0, digests: 0 }
    count.mails++
    if (digestSubject.test(header)) count.digests++
    this.#counts.set(recipient, count)
  }
}

function headerOf(bytes: Buffer): string {
  const text = bytes.toString('latin1')
  const end = text.indexOf('\r\n\r\n')
  return end < 0 ? text : text.slice(0, end)
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0)
}
