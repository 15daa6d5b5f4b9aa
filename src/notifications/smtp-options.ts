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
