import { createTransport } from 'nodemailer'
import { smtpOptionsOf } from '#notifications/smtp-options'

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
