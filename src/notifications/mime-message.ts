import MailComposer from 'nodemailer/lib/mail-composer'
import { encodeWord } from 'nodemailer/lib/mime-funcs'
import { senderOf } from '#model/mail-address'
import type { MailMessage } from '#notifications/mail'

/** As in nodemailer. RFC 2047 §2 allows 75 characters, delimiters included. */
const encodedWordCharactersMax = 52

/**
 * Encodes a mail by RFC 5322 for the network or a file. The same message gives the same bytes, because date, Message-ID
 * and boundaries are derived from the message.
 */
export function mimeOf({ id, date, from, to, subject, text, html, listId, unsubscribe }: MailMessage): Promise<Buffer> {
  const { name, address } = senderOf(from) ?? { name: '', address: from }
  const headers: Record<string, string | { prepared: true; foldLines?: true; value: string }> = {
    Subject: { prepared: true, foldLines: true, value: headerText(subject) },
    // RFC 3834: asks mail servers not to send automatic replies.
    'Auto-Submitted': 'auto-generated',
    'X-Auto-Response-Suppress': 'All',
  }
  if (listId !== undefined) headers['List-Id'] = { prepared: true, value: `<${listId}>` }
  if (unsubscribe) headers['List-Unsubscribe'] = { prepared: true, value: `<${unsubscribe.url}>` }
  if (unsubscribe?.isOneClick) headers['List-Unsubscribe-Post'] = 'List-Unsubscribe=One-Click'
  const composer = new MailComposer({
    from: { name, address },
    to: { name: '', address: to },
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

/** RFC 2047. nodemailer does not encode text that looks encoded already, and mail clients would decode that text. */
function headerText(text: string): string {
  return /^[ -~]*$/.test(text) && !text.includes('=?') ? text : encodeWord(text, 'Q', encodedWordCharactersMax)
}
