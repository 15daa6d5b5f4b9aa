import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

/** A mail as the server got it. */
export interface GotMail {
  readonly from: string
  readonly to: readonly string[]
  readonly raw: string
  /** Whether it came by TLS. */
  readonly isSecure: boolean
}

/** A mail server on this machine that takes everything, unless it is told otherwise. */
export class RealSmtpServer {
  /** All that came whole, whatever was answered. */
  readonly got: GotMail[] = []
  /** What becomes of a mail that came whole: refused by what this throws, or gives when it is awaited. */
  answering: (mail: GotMail) => void | Promise<void> = () => {}
  /** What people signed in with. */
  readonly signedIn: { readonly user: string | null | undefined; readonly password: string | null | undefined }[] = []
  connectionsMade = 0
  /** At once. */
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
          this.got.push(mail)
          this.#answer(mail).then(() => done(), done)
        })
      },
      ...options,
    })
    // What a connection ends with is for whoever made it.
    this.#server.on('error', () => {})
  }

  /** `port` 0: any that is free. */
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

  async #answer(mail: GotMail): Promise<void> {
    await this.answering(mail)
  }
}
