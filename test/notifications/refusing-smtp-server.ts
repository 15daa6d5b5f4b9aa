import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

/** Commands in order; `GREETING` is the connection, `END` the dot after a mail. */
export type SmtpStep = 'GREETING' | 'EHLO' | 'HELO' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'END'

/** A reply, or no reply. */
export type SmtpAnswer = `${number} ${string}` | 'drop' | 'silence'

const defaultReplies: Readonly<Record<string, string>> = {
  GREETING: '220 mail.example ESMTP',
  EHLO: '250-mail.example\r\n250 AUTH PLAIN',
  HELO: '250 mail.example',
  AUTH: '235 welcome',
  DATA: '354 go on',
}

/** An SMTP server with scripted answers for every step. RFC 5321. */
export class RefusingSmtpServer {
  /** The answer to the `nth` command of this step; undefined is the default. */
  answerTo: (step: SmtpStep, nth: number) => SmtpAnswer | undefined = () => undefined
  readonly commands: string[] = []
  /** The number of complete mails, including refused ones. */
  mails = 0
  connections = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #counts = new Map<string, number>()

  private constructor() {
    this.#server = createServer((socket) => this.#serve(socket))
  }

  static async open(): Promise<RefusingSmtpServer> {
    const server = new RefusingSmtpServer()
    await server.listen(0)
    return server
  }

  listen(port: number): Promise<void> {
    return new Promise((resolve) => this.#server.listen(port, '127.0.0.1', resolve))
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #serve(socket: Socket): void {
    this.connections++
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => {})
    let rest = ''
    let isInMail = false
    this.#answer(socket, 'GREETING')
    socket.on('data', (piece) => {
      rest += piece.toString('latin1')
      for (let end = rest.indexOf('\r\n'); end >= 0; end = rest.indexOf('\r\n')) {
        const line = rest.slice(0, end)
        rest = rest.slice(end + 2)
        if (isInMail && line !== '.') continue
        if (isInMail) {
          isInMail = false
          this.mails++
          this.#answer(socket, 'END')
        } else {
          this.commands.push(line)
          const step = (line.split(' ')[0] ?? '').toUpperCase()
          isInMail = this.#answer(socket, step).startsWith('354')
        }
      }
    })
  }

  #answer(socket: Socket, step: string): string {
    const nth = (this.#counts.get(step) ?? 0) + 1
    this.#counts.set(step, nth)
    const answer = this.answerTo(step as SmtpStep, nth) ?? defaultReplies[step] ?? '250 fine'
    if (answer === 'drop') socket.destroy()
    else if (answer !== 'silence') socket.write(`${answer}\r\n`)
    return answer
  }
}
