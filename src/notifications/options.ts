import type { Mail } from '#notifications/mail'

export interface NotificationSettings {
  readonly mail: Mail
  /** Default: see below. */
  readonly mailsPerHourMax?: number
  /** Requests of a function; default: by the mails that one subscriber gets. */
  readonly storedRequestsMax?: number
}

/** Mails that one subscriber gets in an hour, before they are told together. Contract 5.7. */
export const defaultMailsPerHourMax = 60
