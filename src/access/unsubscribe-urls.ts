import { createHmac, timingSafeEqual } from 'node:crypto'

/** The subscription that a URL ends. No field can contain a line break. */
export interface UnsubscribeSubject {
  readonly tenant: string
  /** In the spelling of the subscription's owner field. */
  readonly user: string
  readonly subscription: string
}

const path = '/api/v1/notifications/unsubscribe/'

/**
 * Signs the URLs in `List-Unsubscribe`: anyone with the mail may end the subscription that sent it, and nothing more.
 * RFC 8058.
 *
 * The signature is HMAC-SHA-256 over purpose, tenant, user and subscription, one per line. It never expires, because
 * old mails must work, and does not show whether the subscription (still) exists.
 */
export class UnsubscribeUrls {
  readonly #key: () => Uint8Array

  /** `key`: read for each URL, because the key is known only once identity is open. */
  constructor(key: () => Uint8Array) {
    this.#key = key
  }

  /** `base`: scheme and host, an optional path prefix, and no slash at the end. */
  urlOf(base: string, subject: UnsubscribeSubject): string {
    const { tenant, user, subscription } = subject
    const query = `tenant=${encodeURIComponent(tenant)}&user=${encodeURIComponent(user)}`
    return `${base}${path}${encodeURIComponent(subscription)}?${query}&sig=${this.#signatureOf(subject)}`
  }

  /** Whether the server signed it for this subscription of this user. */
  isValid(subject: UnsubscribeSubject, sig: string): boolean {
    const expected = Buffer.from(this.#signatureOf(subject))
    const actual = Buffer.from(sig)
    return actual.length === expected.length && timingSafeEqual(actual, expected)
  }

  #signatureOf({ tenant, user, subscription }: UnsubscribeSubject): string {
    const signedText = `unsubscribe\n${tenant}\n${user}\n${subscription}`
    return createHmac('sha256', this.#key()).update(signedText).digest('base64url')
  }
}
