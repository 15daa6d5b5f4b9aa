import MailComposer from 'nodemailer/lib/mail-composer'
import { senderOf } from '#model/mail-address'
import type { MailMessage } from '#outbound/mail'

/**
 * The mail as it goes over the wire or into a file, RFC 5322. The same message gives the same bytes: date, Message-ID and
 * boundaries come from it.
 */
export function mimeOf({ id, date, from, to, subject, text, html, listId, unsubscribe }: MailMessage): Promise<Buffer> {
  const { name, address } = senderOf(from) ?? { name: '', address: from }
  const headers: Record<string, string | { prepared: true; value: string }> = {
    // RFC 3834: nobody's holiday is answered.
    'Auto-Submitted': 'auto-generated',
    'X-Auto-Response-Suppress': 'All',
  }
  if (listId !== undefined) headers['List-Id'] = { prepared: true, value: `<${listId}>` }
  if (unsubscribe) headers['List-Unsubscribe'] = { prepared: true, value: `<${unsubscribe.url}>` }
  if (unsubscribe?.isOneClick) headers['List-Unsubscribe-Post'] = 'List-Unsubscribe=One-Click'
  const composer = new MailComposer({
    from: { name, address },
    to: { name: '', address: to },
    subject,
    messageId: `<${id}>`,
    date: new Date(date),
    text,
    ...(html !== undefined && { html }),
    headers,
    baseBoundary: id.slice(0, 32),
    newline: 'win',
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return composer.compile().build()
}
