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

/** A mail server that takes everything, on this machine. */
export class RealSmtpServer {
  readonly got: GotMail[] = []
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
          this.got.push({ from, to: rcptTo.map(({ address }) => address), raw, isSecure: secure })
          done()
        })
      },
      ...options,
    })
    // What a connection ends with is for whoever made it.
    this.#server.on('error', () => {})
  }

  static async open(options: SMTPServerOptions = { disabledCommands: ['STARTTLS'] }): Promise<RealSmtpServer> {
    const server = new RealSmtpServer(options)
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get port(): number {
    return (this.#server.server.address() as AddressInfo).port
  }

  close(): Promise<void> {
    return new Promise((closed) => this.#server.close(() => closed()))
  }
}
