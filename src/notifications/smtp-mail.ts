import type { Readable } from 'node:stream'
import { createTransport } from 'nodemailer'
import { domainOf, senderOf } from '#model/mail-address'
import {
  deliveredBy,
  type Mail,
  type MailFault,
  type MailMessage,
  MailRefused,
  mailsAtOnceMax,
} from '#notifications/mail'
import { mimeOf } from '#notifications/mime-message'
import type { World } from '#runtime/world'

export interface SmtpTimeouts {
  /** Until the connection is established, including TLS. */
  readonly connectMs: number
  readonly greetingMs: number
  /** Between two bytes from the server. */
  readonly silenceMs: number
  /** For one mail in total, including the wait for a connection. */
  readonly wholeMs: number
  /** For mails in progress after `close`. */
  readonly closeMs: number
}

export interface SmtpMailOptions {
  /** In the format of `SMTP_URL`. */
  readonly url: string
  /** In the format of `MAIL_FROM`. */
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

/** A connection is replaced after this many mails, because servers close connections that stay open too long. */
const mailsAConnectionMax = 100

/**
 * Sends mail by SMTP over up to `mailsAtOnceMax` persistent connections. If the server closed a connection before any
 * byte of a mail was sent, the mail is sent once more on another connection. Links in a mail are never fetched.
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
  /**
   * The stream of each mail, by abort signal, because nodemailer does not report whether it has sent any byte of a
   * mail.
   */
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

  const { send, close } = deliveredBy(hand)
  return {
    kind: 'smtp',
    from,
    host: domainOf(sender),
    async open() {},
    send,
    async close() {
      const cancel = world.after(timeouts.closeMs, () => pool.close({ force: true }))
      await close()
      cancel()
      pool.close()
    },
  }
}

/** The fields of a nodemailer error; each may be absent. */
interface SmtpError {
  /** `EENVELOPE`, `ETIMEDOUT` … */
  readonly code?: string
  /** The code of the server's reply. */
  readonly responseCode?: number
  /** The step that failed: `CONN`, `MAIL FROM`, `RCPT TO`, `DATA` … */
  readonly command?: string
}

/** Codes of this project for failures without a reply. */
const reasonsByCode: Readonly<Record<string, string>> = {
  ETIMEDOUT: 'TIMEOUT',
  EABORT: 'TIMEOUT',
  EDNS: 'DNS',
  ETLS: 'TLS',
  EAUTH: 'AUTH',
  ENOAUTH: 'AUTH',
  EPROTOCOL: 'PROTOCOL',
  EMESSAGE: 'TOO_LARGE',
}

/** Replies about the SMTP session, after any command: RFC 4954 §6, RFC 3207 §4. */
const sessionReplies: ReadonlySet<number> = new Set([530, 534, 535, 538])

/** "Bad sequence" is about the client, not about the mail. */
const outOfOrder = 503

/**
 * Classifies a failure. If `hasBegun`, a byte of the mail was sent, so a broken connection may be related to the mail,
 * and the mail may have arrived. Otherwise a broken connection is unrelated to the mail.
 */
function mailRefusedOf({ code = '', responseCode, command }: SmtpError, hasBegun: boolean): MailRefused {
  if (responseCode === undefined) {
    // nodemailer itself refuses an unusable address (EENVELOPE) and a mail above the server's size limit (EMESSAGE).
    if (code === 'EENVELOPE') return new MailRefused('recipient', 'ADDRESS')
    const kind = code === 'EMESSAGE' ? 'message' : hasBegun ? 'later' : 'transport'
    return new MailRefused(kind, reasonsByCode[code] ?? 'CONNECTION')
  }
  return new MailRefused(kindOfReply(responseCode, command), String(responseCode))
}

/**
 * Relays also answer 421 and 454 for a single recipient: a rate limit of the recipient's host, or a deferred delivery.
 * These answers count as `later`, because one address must not delay all others. A server that is shutting down also
 * refuses the next connection, in its greeting.
 */
function kindOfReply(reply: number, command: string | undefined): MailFault {
  if (sessionReplies.has(reply)) return 'transport'
  if (command !== 'RCPT TO' && command !== 'DATA') return 'transport'
  if (reply < 500 || reply === outOfOrder) return 'later'
  return command === 'RCPT TO' ? 'recipient' : 'message'
}

const connectMs = 10_000

/**
 * Runs the steps before a mail's first address: connection, TLS, greeting, password.
 * @throws the error of the server or the connection
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

/** The mail server and the security of the connection. */
export interface SmtpOptions {
  readonly host: string
  readonly port: number
  /** TLS from the first byte. */
  readonly secure: boolean
  /** Requires STARTTLS: without it no mail is sent. If offered, STARTTLS is used in any case. */
  readonly requireTLS: boolean
  readonly auth?: { readonly user: string; readonly pass: string }
  readonly tls: { readonly rejectUnauthorized: boolean }
}

/** RFC 8314 §3.3. */
const tlsPort = 465
/** RFC 6409: message submission. */
const submissionPort = 587

/**
 * Parses `smtp://[user:password@]host[:port]`, or `smtps://` for TLS from the first byte. The URL has passed the check of
 * the setting.
 *
 * A password crosses the network only over TLS, to a server with a valid certificate. On loopback there is no network to
 * protect the password from, and local relays often have self-signed certificates.
 */
export function smtpOptionsOf(text: string): SmtpOptions {
  const { protocol, hostname, port, username, password } = new URL(text)
  const secure = protocol === 'smtps:'
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const isLocal = isLoopback(host)
  const hasPassword = password !== ''
  return {
    host,
    port: port === '' ? (secure ? tlsPort : submissionPort) : Number(port),
    secure,
    requireTLS: !secure && hasPassword && !isLocal,
    ...(hasPassword && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    tls: { rejectUnauthorized: secure || !isLocal },
  }
}

function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(host)
}
