import { type MailFault, MailRefused } from '#notifications/mail'

/** What nodemailer says of a failure; each may be absent. */
export interface SmtpError {
  /** `EENVELOPE`, `ETIMEDOUT` … */
  readonly code?: string
  /** Of the server's reply. */
  readonly responseCode?: number
  /** What was being said: `CONN`, `MAIL FROM`, `RCPT TO`, `DATA` … */
  readonly command?: string
}

/** Ours for what is not a reply. */
const words: Readonly<Record<string, string>> = {
  ETIMEDOUT: 'TIMEOUT',
  EABORT: 'TIMEOUT',
  EDNS: 'DNS',
  ETLS: 'TLS',
  EAUTH: 'AUTH',
  ENOAUTH: 'AUTH',
  EPROTOCOL: 'PROTOCOL',
  EMESSAGE: 'TOO_LARGE',
}

/** Replies that are about the session, whatever they answer: RFC 4954 §6, RFC 3207 §4. */
const sessionReplies: ReadonlySet<number> = new Set([530, 534, 535, 538])

/** "Bad sequence" is said of us and not of the mail. */
const outOfOrder = 503

/**
 * Why a mail did not go. `hasBegun`: a byte of it was sent. Then a broken connection may be about this very mail, and it
 * may have arrived; before, it is nobody's fault.
 */
export function mailRefusedOf({ code = '', responseCode, command }: SmtpError, hasBegun: boolean): MailRefused {
  if (responseCode === undefined) {
    // Refused by nodemailer itself: an address it would not send, a mail above the server's limit.
    if (code === 'EENVELOPE') return new MailRefused('recipient', 'ADDRESS')
    const kind = code === 'EMESSAGE' ? 'message' : hasBegun ? 'later' : 'transport'
    return new MailRefused(kind, words[code] ?? 'CONNECTION')
  }
  return new MailRefused(kindOfReply(responseCode, command), String(responseCode))
}

/**
 * Relays say 421 and 454 also of one recipient: a limit of his host, a delivery that they put off. One address must not hold
 * up all others; of a server that does go away, the next connection hears so in its greeting.
 */
function kindOfReply(reply: number, command: string | undefined): MailFault {
  if (sessionReplies.has(reply)) return 'transport'
  if (command !== 'RCPT TO' && command !== 'DATA') return 'transport'
  if (reply < 500 || reply === outOfOrder) return 'later'
  return command === 'RCPT TO' ? 'recipient' : 'message'
}
