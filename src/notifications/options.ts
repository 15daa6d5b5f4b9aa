import type { Mail } from '#notifications/mail'
import type { WebhookSender } from '#notifications/webhook-sender'

export interface NotificationSettings {
  readonly mail: Mail
  readonly webhookSender: WebhookSender
  /** The addresses of the server for links in mails to users. Empty: no such mails. */
  readonly publicUrls?: readonly string[]
  /** Default: `defaultMailsPerHourMax`. */
  readonly mailsPerHourMax?: number
  /** The limit of stored requests of a function. By default, `mailsPerHourMax` determines the limit. */
  readonly storedRequestsMax?: number
}

/** The limit of mails to one subscriber in an hour. Further notifications go into a digest. Contract 5.7. */
export const defaultMailsPerHourMax = 60
