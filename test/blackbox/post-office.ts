import { expect } from 'vitest'
import { until } from '#test/blackbox/until'
import { headerOf, type ReadMail, readMail } from '#test/outbound/read-mail'
import { type GotMail, RealSmtpServer } from '#test/outbound/real-smtp-server'

/** A mail as it arrived. */
export interface Arrived extends ReadMail {
  readonly to: string
  readonly id: string
}

/** A reply of a mail server, to be thrown: `[451, 'busy']`. */
export function reply(responseCode: number, said: string): Error {
  return Object.assign(new Error(said), { responseCode })
}

/** A real mail server that can be away for a while, on the same port. What came is kept. */
export class PostOffice {
  readonly #port: number
  #server: RealSmtpServer | undefined
  readonly #before: GotMail[] = []
  #answering: RealSmtpServer['answering'] = () => {}

  private constructor(server: RealSmtpServer) {
    this.#server = server
    this.#port = server.port
  }

  static async open(): Promise<PostOffice> {
    return new PostOffice(await RealSmtpServer.open(options))
  }

  /** As `SMTP_URL` takes it. */
  get url(): string {
    return `smtp://127.0.0.1:${this.#port}`
  }

  /** What becomes of mails: see `RealSmtpServer`. */
  set answering(answering: RealSmtpServer['answering']) {
    this.#answering = answering
    if (this.#server) this.#server.answering = answering
  }

  /** Answers none until that is called. */
  hold(): () => void {
    let letGo = () => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    this.answering = () => held
    return () => {
      this.answering = () => {}
      letGo()
    }
  }

  async leave(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (!server) return
    this.#before.push(...server.got)
    await server.close()
  }

  async comeBack(): Promise<void> {
    this.#server = await RealSmtpServer.open(options, this.#port)
    this.#server.answering = this.#answering
  }

  /** All, in their order. Whatever comes, its envelope and its header name the same one person. */
  get arrived(): readonly Arrived[] {
    return [...this.#before, ...(this.#server?.got ?? [])].map(({ to, raw }) => {
      const mail = readMail(raw)
      expect([headerOf(mail.headers, 'to')]).toEqual(to)
      return { ...mail, to: to[0] ?? '', id: headerOf(mail.headers, 'message-id') }
    })
  }

  to(address: string): readonly Arrived[] {
    return this.arrived.filter((mail) => mail.to === address)
  }

  subjectsTo(address: string): string[] {
    return this.to(address).map(({ subject }) => subject)
  }

  /** Until so many came for somebody. */
  async until(address: string, count: number): Promise<readonly Arrived[]> {
    return until(
      () => this.to(address).length >= count && this.to(address),
      () => `${count} mails to ${address}, there are ${JSON.stringify(this.subjectsTo(address))}`,
    )
  }
}

/** Whoever leaves does not wait for connections that are kept open. */
const options = { disabledCommands: ['STARTTLS'], closeTimeout: 50 }
