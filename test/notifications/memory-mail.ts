import { domainOf, senderOf } from '#model/mail-address'
import { closedCode, type Mail, type MailMessage, MailRefused } from '#notifications/mail'

/** Mail that is only recorded. */
export class MemoryMail implements Mail {
  readonly kind = 'eml'
  readonly from: string
  readonly host: string
  /** Arrived mails in order, including repeated ones. */
  readonly sent: MailMessage[] = []
  /** Called before a mail arrives; an error refuses it. */
  onSend: (message: MailMessage) => void | Promise<void> = () => {}
  readonly #pending = new Set<Promise<void>>()
  #isClosed = false

  constructor(from = 'device-data-backend@localhost') {
    this.from = from
    this.host = domainOf(senderOf(from)?.address ?? from)
  }

  async open(): Promise<void> {}

  async send(message: MailMessage): Promise<void> {
    if (this.#isClosed) throw new MailRefused('transport', closedCode)
    const taken = this.#take(message)
    this.#pending.add(taken)
    try {
      await taken
    } finally {
      this.#pending.delete(taken)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#pending)
  }

  async #take(message: MailMessage): Promise<void> {
    await this.onSend(message)
    this.sent.push(message)
  }
}
