import { domainOf, senderOf } from '#model/mail-address'
import { closedCode, type Mail, type MailMessage, MailRefused } from '#notifications/mail'

/** The oldest go. */
const mailsKept = 10_000

/** Mail that goes nowhere and is remembered. */
export class MemoryMail implements Mail {
  readonly kind = 'eml'
  readonly from: string
  readonly host: string
  /** In the order in which they arrived, each as often as it did. */
  readonly sent: MailMessage[] = []
  /** What becomes of a mail: refused by what this throws, or gives when it is awaited. */
  answering: (message: MailMessage) => void | Promise<void> = () => {}
  readonly #underWay = new Set<Promise<void>>()
  #isClosed = false

  constructor(from = 'device-data-backend@localhost') {
    this.from = from
    this.host = domainOf(senderOf(from)?.address ?? from)
  }

  async open(): Promise<void> {}

  async send(message: MailMessage): Promise<void> {
    if (this.#isClosed) throw new MailRefused('transport', closedCode)
    const taken = this.#take(message)
    this.#underWay.add(taken)
    try {
      await taken
    } finally {
      this.#underWay.delete(taken)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#underWay)
  }

  async #take(message: MailMessage): Promise<void> {
    await this.answering(message)
    if (this.sent.length >= mailsKept) this.sent.shift()
    this.sent.push(message)
  }
}
