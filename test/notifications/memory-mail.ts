import { domainOf, senderOf } from '#model/mail-address'
import { deliveredBy, type Mail, type MailMessage } from '#notifications/mail'

/** Mail that is only recorded. */
export class MemoryMail implements Mail {
  readonly kind = 'eml'
  readonly from: string
  readonly host: string
  /** Arrived mails in order, including repeated ones. */
  readonly sent: MailMessage[] = []
  /** Called before a mail arrives; an error refuses it. */
  onSend: (message: MailMessage) => void | Promise<void> = () => {}
  readonly #delivered = deliveredBy(async (message) => {
    await this.onSend(message)
    this.sent.push(message)
  })
  readonly send = this.#delivered.send
  readonly close = this.#delivered.close

  constructor(from = 'device-data-backend@localhost') {
    this.from = from
    this.host = domainOf(senderOf(from)?.address ?? from)
  }

  async open(): Promise<void> {}
}
