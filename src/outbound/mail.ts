/** A mail to one person. All texts are plain; none but `subject`, `text` and `html` holds what people wrote. */
export interface MailMessage {
  /** The Message-ID, without angle brackets: the same for the same mail, however often it is sent. */
  readonly id: string
  /** Unix ms. */
  readonly date: number
  readonly from: string
  /** One address. */
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html?: string
  /** RFC 2919, without angle brackets. */
  readonly listId?: string
  /** RFC 2369; `isOneClick` by RFC 8058. */
  readonly unsubscribe?: { readonly url: string; readonly isOneClick: boolean }
}

/**
 * Whose fault it is that a mail did not leave. `recipient`, `message`: this one never will. `later`: this one may.
 * `transport`: nobody's; nothing leaves for a while.
 */
export type MailFault = 'recipient' | 'message' | 'later' | 'transport'

/** `code`: that of SMTP, or a word of ours (`TIMEOUT`): never what the server wrote, which repeats addresses. */
export class MailRefused extends Error {
  readonly kind: MailFault
  readonly code: string

  constructor(kind: MailFault, code: string) {
    super(`mail refused: ${code}`)
    this.name = 'MailRefused'
    this.kind = kind
    this.code = code
  }
}

/** How mails leave. Two implementations: SMTP, and files for whoever has no server for it. Contract 5.7. */
export interface Mail {
  readonly kind: 'smtp' | 'eml' | 'memory'
  /** The sender's address. */
  readonly from: string
  /** Right of the @ in Message-IDs. */
  readonly host: string
  open(): Promise<void>
  /**
   * Fulfilled when somebody else has it. Four at once at most.
   * @throws MailRefused
   */
  send(message: MailMessage): Promise<void>
  close(): Promise<void>
}
