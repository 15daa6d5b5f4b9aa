import { createHash } from 'node:crypto'
import type { RenderedText } from '#model/mail-text'
import type { Mail, MailMessage } from '#notifications/mail'

export interface MailParts {
  readonly mail: Omit<Mail, 'kind' | 'open' | 'send' | 'close'>
  /** One address that can receive mail. */
  readonly to: string
  /** Equal for each attempt of the same mail. The Message-ID is derived from the seed. */
  readonly seed: string
  /** The time of the event, Unix ms. */
  readonly date: number
  readonly text: Omit<RenderedText, 'locale'>
  /** RFC 2919, without angle brackets. */
  readonly listId?: string
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
