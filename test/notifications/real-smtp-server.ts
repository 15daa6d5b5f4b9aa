import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

/** A received mail. */
export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  readonly raw: string
  /** Whether it was received by TLS. */
  readonly isSecure: boolean
}

/** A local mail server that accepts everything unless `onMail` refuses. */
export class RealSmtpServer {
  /** All complete mails, including refused ones. */
  readonly received: ReceivedMail[] = []
  /** Called for each complete mail; an error refuses it. */
  onMail: (mail: ReceivedMail) => void | Promise<void> = () => {}
  /** The credentials of all sign-ins. */
  readonly signedIn: { readonly user: string | null | undefined; readonly password: string | null | undefined }[] = []
  connectionsMade = 0
  /** The most connections at the same time. */
  connectionsMax = 0
  #connections = 0
  readonly #server: SMTPServer

  private constructor(options: SMTPServerOptions) {
    this.#server = new SMTPServer({
      authOptional: true,
      logger: false,
      onConnect: (_, done) => {
        this.connectionsMade++
        this.connectionsMax = Math.max(this.connectionsMax, ++this.#connections)
        done()
      },
      onClose: () => {
        this.#connections--
      },
      onAuth: ({ username, password }, _, done) => {
        this.signedIn.push({ user: username, password })
        done(null, { user: username ?? '' })
      },
      onData: (stream, { envelope, secure }, done) => {
        const pieces: Buffer[] = []
        stream.on('data', (piece: Buffer) => pieces.push(piece))
        stream.on('end', () => {
          const { mailFrom, rcptTo } = envelope
          const from = mailFrom === false ? '' : mailFrom.address
          const raw = Buffer.concat(pieces).toString('latin1')
          const mail = { from, to: rcptTo.map(({ address }) => address), raw, isSecure: secure }
          this.received.push(mail)
          this.#answer(mail).then(() => done(), done)
        })
      },
      ...options,
    })
    // Errors of a connection are tested at the client.
    this.#server.on('error', () => {})
  }

  /** `port` 0 is any free port. */
  static async open(
    options: SMTPServerOptions = { disabledCommands: ['STARTTLS'] },
    port = 0,
  ): Promise<RealSmtpServer> {
    const server = new RealSmtpServer(options)
    await new Promise<void>((resolve) => server.#server.listen(port, '127.0.0.1', resolve))
    return server
  }

  get port(): number {
    return (this.#server.server.address() as AddressInfo).port
  }

  close(): Promise<void> {
    return new Promise((closed) => this.#server.close(() => closed()))
  }

  async #answer(mail: ReceivedMail): Promise<void> {
    await this.onMail(mail)
  }
}
