/** Where mail is handed over, and how safely. */
export interface SmtpOptions {
  readonly host: string
  readonly port: number
  /** TLS from the first byte. */
  readonly secure: boolean
  /** Without STARTTLS nothing is said. Where it is offered it is used in any case. */
  readonly requireTLS: boolean
  readonly auth?: { readonly user: string; readonly pass: string }
  readonly tls: { readonly rejectUnauthorized: boolean }
}

/** RFC 8314 §3.3. */
const tlsPort = 465
/** RFC 6409: of submission. */
const submissionPort = 587

/**
 * Of `smtp://[user:password@]host[:port]`, or `smtps://` with TLS from the start. The URL is one that the setting takes.
 *
 * A password goes over the network by TLS alone, to a server whose certificate is good. On the way to the same machine
 * there is nobody to hide it from, and relays there show certificates that nobody signed.
 */
export function smtpOptionsOf(text: string): SmtpOptions {
  const { protocol, hostname, port, username, password } = new URL(text)
  const secure = protocol === 'smtps:'
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const isNear = isLoopback(host)
  const hasPassword = password !== ''
  return {
    host,
    port: port === '' ? (secure ? tlsPort : submissionPort) : Number(port),
    secure,
    requireTLS: !secure && hasPassword && !isNear,
    ...(hasPassword && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    tls: { rejectUnauthorized: secure || !isNear },
  }
}

function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i.test(host)
}
