import { createHash } from 'node:crypto'
import type { RenderedText } from '#model/mail-text'
import type { Mail, MailMessage } from '#notifications/mail'

export interface MailParts {
  readonly mail: Mail
  /** One address that mail goes to. */
  readonly to: string
  /** What the Message-ID is made of: the same for the same mail, however often it is made. */
  readonly seed: string
  /** Of what it tells, Unix ms. */
  readonly date: number
  readonly text: Omit<RenderedText, 'locale'>
  /** RFC 2919, without angle brackets. */
  readonly listId?: string
  readonly unsubscribeUrl?: string
}

/** A line holds 998 characters, RFC 5322 §2.1.1; an address has no place where it could be broken. */
const urlCharactersMax = 900

/** Everything that goes to one person, and to nobody else. Contract 5.7. */
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
    // RFC 8058 §3.1: one click is for https.
    ...(url !== undefined && isHeaderUrl(url) && { unsubscribe: { url, isOneClick: url.startsWith('https:') } }),
  }
}

/** The origin in it may be what somebody said in `Host`. */
function isHeaderUrl(url: string): boolean {
  return url.length <= urlCharactersMax && /^https?:\/\/[!-;=?-~]+$/.test(url)
}
