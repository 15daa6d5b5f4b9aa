import { join } from 'node:path'
import { type Config, isLoopback } from '#app/config'
import type { Log } from '#app/log'

/** The folder for mails if no mail server is configured. Contract 5.7. */
export function outboxIn(dataDirectory: string): string {
  return join(dataDirectory, 'outbox')
}

/** The URL of the server, with the base path of the API. */
export function urlOf({ host }: Config, port: number): string {
  const written = host.includes(':') ? `[${host}]` : host
  return `http://${host === '0.0.0.0' ? 'localhost' : written}:${port}/api/v1`
}

/** Logs the addresses of the server after the start, and how mails and sign-ins are configured. */
export function logStartMessages(config: Config, log: Log, url: string, port: number): void {
  const { dataDirectory } = config
  const dashboard = new URL('/', url).href
  if (config.smtpUrl === undefined) {
    log.info({ folder: outboxIn(dataDirectory) }, 'mails are saved as files, not sent: SMTP_URL is not set')
  }
  if (config.isIamOn) {
    log.info({ port, dataDirectory }, `dashboard ${dashboard}, API ${url}, sign in at ${url}/iam/token`)
    return
  }
  const warning = 'IAM is OFF: no sign-in is needed, and anyone who can reach this port may read and change everything'
  if (isLoopback(config.host)) log.warn({}, warning)
  else log.error({ host: config.host }, warning)
  log.info({ port, dataDirectory }, `dashboard ${dashboard}, API ${url}, try ${url}/devices?depth=2`)
}
