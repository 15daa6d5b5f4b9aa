import { createHash } from 'node:crypto'
import type { RenderedText } from '#model/mail-text'

/** One mail to one person, before encoding by RFC 5322. Only `subject`, `text` and `html` contain users' text. */
export interface MailMessage extends Omit<RenderedText, 'locale'> {
  /** Message-ID without its angle brackets. It is the same for each attempt of this mail. */
  readonly id: string
  /** The time of the event, Unix ms. */
  readonly date: number
  /** An address, or a name and an address: `Devices <devices@example.com>`. */
  readonly from: string
  /** One address that can receive mail (`isMailable`). */
  readonly to: string
  /** RFC 2919, without its angle brackets. */
  readonly listId?: string
  /** RFC 2369; one-click unsubscription by RFC 8058. */
  readonly unsubscribe?: { readonly url: string; readonly isOneClick: boolean }
}

/**
 * Why a mail was refused. `recipient`, `message`: permanent, for this address or this content. `later`: this mail may be
 * accepted later. `transport`: unrelated to the mail, no mail can be sent now.
 */
export type MailFault = 'recipient' | 'message' | 'later' | 'transport'

/** The text of a mail server's reply repeats addresses, so only its code is kept. */
export class MailRefused extends Error {
  override readonly name = 'MailRefused'
  readonly kind: MailFault
  /** The code of the reply, such as `550`, or a code of this project, such as `TIMEOUT`. */
  readonly code: string

  constructor(kind: MailFault, code: string) {
    super(`mail was refused: ${kind}, ${code}`)
    this.kind = kind
    this.code = code
  }
}

/**
 * The destination of mails. Two implementations: a mail server and a folder.
 *
 * A mail that is sent twice may arrive twice, under one Message-ID; a refused mail may have arrived if the fault is `later`
 * or `transport`. Callers have at most `mailsAtOnceMax` mails in progress.
 */
export interface Mail {
  readonly kind: 'smtp' | 'eml'
  /** The configured sender. */
  readonly from: string
  /** The domain part of Message-IDs. */
  readonly host: string
  /** @throws StorageFailure if the folder cannot be used */
  open(): Promise<void>
  /** @throws MailRefused */
  send(message: MailMessage): Promise<void>
  /** Mails in progress finish within some seconds. Later mails are refused. */
  close(): Promise<void>
}

export const mailsAtOnceMax = 4

/** The code of the `MailRefused` for a mail after `close`. */
export const closedCode = 'CLOSED'

/** `send` and `close` of a `Mail`: each mail is delivered by this function, and `close` waits for those in progress. */
export function deliveredBy(deliver: (message: MailMessage) => Promise<void>): Pick<Mail, 'send' | 'close'> {
  const inProgress = new Set<Promise<void>>()
  let isClosed = false
  return {
    async send(message) {
      if (isClosed) throw new MailRefused('transport', closedCode)
      const delivered = deliver(message)
      inProgress.add(delivered)
      await delivered.finally(() => inProgress.delete(delivered))
    },
    async close() {
      isClosed = true
      await Promise.allSettled(inProgress)
    },
  }
}

export interface MailParts extends Pick<MailMessage, 'to' | 'date' | 'listId'> {
  readonly mail: Omit<Mail, 'kind' | 'open' | 'send' | 'close'>
  /** Equal for each attempt of the same mail. The Message-ID is derived from the seed. */
  readonly seed: string
  readonly text: Omit<RenderedText, 'locale'>
  readonly unsubscribeUrl?: string
}

/** The longest URL in a header: a line holds 998 characters (RFC 5322 §2.1.1), and a URL cannot be folded. */
const urlCharactersMax = 900

/** Builds a mail to exactly one person. Contract 5.7. */
export function mailOf({ mail, to, seed, date, text, listId, unsubscribeUrl: url }: MailParts): MailMessage {
  const { subject, html } = text
  return {
    id: `${createHash('sha256').update(seed).digest('hex').slice(0, 32)}@${mail.host}`,
    date,
    from: mail.from,
    to,
    subject,
    text: text.text,
    ...(html !== undefined && { html }),
    ...(listId !== undefined && { listId }),
    // RFC 8058 §3.1: one-click unsubscription requires https.
    ...(url !== undefined && isHeaderUrl(url) && { unsubscribe: { url, isOneClick: url.startsWith('https:') } }),
  }
}

/** The origin in the URL may come from a request's `Host` header. */
function isHeaderUrl(url: string): boolean {
  return url.length <= urlCharactersMax && /^https?:\/\/[!-;=?-~]+$/.test(url)
}
