import type { Readable } from 'node:stream'
import { createTransport } from 'nodemailer'
import { domainOf, senderOf } from '#model/mail-address'
import {
  closedCode,
  type Mail,
  type MailFault,
  type MailMessage,
  MailRefused,
  mailsAtOnceMax,
} from '#notifications/mail'
import { mimeOf } from '#notifications/mime-message'
import { smtpOptionsOf } from '#notifications/smtp-options'
import type { World } from '#runtime/world'

export interface SmtpTimeouts {
  /** Until there is a connection, with TLS if it has any. */
  readonly connectMs: number
  readonly greetingMs: number
  /** Between two bytes of the server. */
  readonly silenceMs: number
  /** For all of it, the wait for a connection included. */
  readonly wholeMs: number
  /** How long what is under way may go on when no more is to come. */
  readonly closeMs: number
}

export interface SmtpMailOptions {
  /** As `SMTP_URL` takes it. */
  readonly url: string
  /** As `MAIL_FROM` takes it. */
  readonly from: string
  readonly world: World
  readonly timeouts?: SmtpTimeouts
}

const usualTimeouts: SmtpTimeouts = {
  connectMs: 10_000,
  greetingMs: 10_000,
  silenceMs: 30_000,
  wholeMs: 60_000,
  closeMs: 5_000,
}

/** Then a connection is made anew: servers end those that go on for ever. */
const mailsAConnectionMax = 100

/**
 * Mail by SMTP, over up to four connections that are kept. A connection that the server had closed before anything of the
 * mail was sent is replaced once. Nothing is fetched, whatever a mail says.
 */
export function smtpMail({ url, from, world, timeouts = usualTimeouts }: SmtpMailOptions): Mail {
  const sender = senderOf(from)?.address ?? from
  const pool = createTransport({
    ...smtpOptionsOf(url),
    pool: true,
    maxConnections: mailsAtOnceMax,
    maxMessages: mailsAConnectionMax,
    maxRequeues: 1,
    connectionTimeout: timeouts.connectMs,
    dnsTimeout: timeouts.connectMs,
    greetingTimeout: timeouts.greetingMs,
    socketTimeout: timeouts.silenceMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  /** What a mail is read from, by its signal: whether any of it was, nodemailer does not say. */
  const streams = new WeakMap<AbortSignal, Readable>()
  pool.use('stream', (mail, next) => {
    const { signal } = mail.data
    const open = mail.message.createReadStream.bind(mail.message)
    mail.message.createReadStream = (...options) => {
      const stream = open(...options)
      if (signal) streams.set(signal, stream)
      return stream
    }
    next()
  })
  const underWay = new Set<Promise<void>>()
  let isClosed = false

  async function hand(message: MailMessage): Promise<void> {
    const raw = await mimeOf(message)
    const controller = new AbortController()
    const { signal } = controller
    const cancel = world.after(timeouts.wholeMs, () => controller.abort())
    try {
      await pool.sendMail({ raw, envelope: { from: sender, to: [message.to] }, signal })
    } catch (error) {
      throw mailRefusedOf(error as SmtpError, streams.get(signal)?.readableDidRead ?? false)
    } finally {
      cancel()
    }
  }

  return {
    kind: 'smtp',
    from,
    host: domainOf(sender),
    async open() {},
    async send(message) {
      if (isClosed) throw new MailRefused('transport', closedCode)
      const handed = hand(message)
      underWay.add(handed)
      try {
        await handed
      } finally {
        underWay.delete(handed)
      }
    },
    async close() {
      isClosed = true
      const cancel = world.after(timeouts.closeMs, () => pool.close({ force: true }))
      await Promise.allSettled(underWay)
      cancel()
      pool.close()
    },
  }
}

/** What nodemailer says of a failure; each may be absent. */
interface SmtpError {
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
function mailRefusedOf({ code = '', responseCode, command }: SmtpError, hasBegun: boolean): MailRefused {
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

const connectMs = 10_000

/**
 * Goes as far as a mail would before its first address: connection, TLS, greeting, password.
 * @throws what the server or the connection said
 */
export async function trySmtp(url: string): Promise<void> {
  const transport = createTransport({
    ...smtpOptionsOf(url),
    connectionTimeout: connectMs,
    dnsTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: connectMs,
  })
  try {
    await transport.verify()
  } finally {
    transport.close()
  }
}
