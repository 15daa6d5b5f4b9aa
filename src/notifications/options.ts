import type { Mail } from '#notifications/mail'
import type { WebhookReceivers } from '#notifications/webhook-receivers'

export interface NotificationSettings {
  readonly mail: Mail
  readonly receivers: WebhookReceivers
  /** The addresses of the server for links in mails to users. Empty: no such mails. */
  readonly publicUrls?: readonly string[]
  /** Default: see below. */
  readonly mailsPerHourMax?: number
  /** Stored requests of a function; default: derived from the mails an hour. */
  readonly storedRequestsMax?: number
}

/** Mails that one subscriber gets in an hour before they are combined into a digest. Contract 5.7. */
export const defaultMailsPerHourMax = 60
