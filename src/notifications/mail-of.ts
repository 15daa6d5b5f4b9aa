import { createHash } from 'node:crypto'
import type { RenderedText } from '#notifications/render'
import type { Mail, MailMessage } from '#outbound/mail'

export interface MailParts {
  readonly mail: Mail
  /** One address. */
  readonly to: string
  /** What the Message-ID is made of: the same for the same mail, however often it is made. */
  readonly seed: string
  /** Unix ms. */
  readonly date: number
  readonly text: Omit<RenderedText, 'locale'>
  readonly listId?: string
  readonly unsubscribeUrl?: string
}

/** Everything that is sent to one person, and to nobody else. Contract 5.7. */
export function mailOf({ mail, to, seed, date, text, listId, unsubscribeUrl }: MailParts): MailMessage {
  const { subject, html } = text
  const unsubscribe = unsubscribeUrl === undefined ? undefined : unsubscribeOf(unsubscribeUrl)
  return {
    id: `${createHash('sha256').update(seed).digest('hex').slice(0, 32)}@${mail.host}`,
    date,
    from: mail.from,
    to,
    subject,
    text: text.text,
    ...(html !== undefined && { html }),
    ...(listId !== undefined && { listId }),
    ...(unsubscribe && { unsubscribe }),
  }
}

function unsubscribeOf(url: string): NonNullable<MailMessage['unsubscribe']> {
  return { url, isOneClick: url.startsWith('https:') }
}
