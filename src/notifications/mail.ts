/** One mail to one person, before it is written as RFC 5322 has it. Nothing in it but `subject`, `text` and `html` is anybody's words. */
export interface MailMessage {
  /** Message-ID without its angle brackets: the same each time this mail is sent. */
  readonly id: string
  /** Of what it tells, Unix ms. */
  readonly date: number
  /** An address, or a name and an address: `Devices <devices@example.com>`. */
  readonly from: string
  /** One address that mail goes to (`isMailable`). */
  readonly to: string
  /** One line. */
  readonly subject: string
  readonly text: string
  readonly html?: string
  /** RFC 2919, without its angle brackets. */
  readonly listId?: string
  /** RFC 2369; with one click by RFC 8058. */
  readonly unsubscribe?: { readonly url: string; readonly isOneClick: boolean }
}

/**
 * Why a mail did not go. `recipient`, `message`: it never will, to this address or with these words. `later`: this one may
 * go later. `transport`: nobody's fault, no mail goes now.
 */
export type MailFault = 'recipient' | 'message' | 'later' | 'transport'

/** What a mail server says repeats addresses, so of it only the code is kept. */
export class MailRefused extends Error {
  override readonly name = 'MailRefused'
  readonly kind: MailFault
  /** The reply's code, `550`, or a word of ours, `TIMEOUT`. */
  readonly code: string

  constructor(kind: MailFault, code: string) {
    super(`mail was refused: ${kind}, ${code}`)
    this.kind = kind
    this.code = code
  }
}

/**
 * Where mail is handed over. Two implementations: a mail server and a folder.
 *
 * A mail that was sent may arrive twice if it is sent twice, under one Message-ID; one that was refused may have arrived if
 * the refusal is `later` or `transport`. Whoever calls has at most `mailsAtOnceMax` under way.
 */
export interface Mail {
  readonly kind: 'smtp' | 'eml'
  /** Who mail is from, as configured. */
  readonly from: string
  /** The domain of Message-IDs. */
  readonly host: string
  /** @throws StorageFailure of a folder that can't be one */
  open(): Promise<void>
  /** @throws MailRefused */
  send(message: MailMessage): Promise<void>
  /** What is under way ends first, within some seconds; what comes later is refused. */
  close(): Promise<void>
}

export const mailsAtOnceMax = 4

/** Of a mail that comes when it is too late: `transport`. */
export const closedCode = 'CLOSED'
