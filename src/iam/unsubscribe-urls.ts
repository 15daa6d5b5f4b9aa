import { createHmac, timingSafeEqual } from 'node:crypto'

/** Whose subscription it is, by ids. */
export interface UnsubscribeSubject {
  readonly tenant: string
  readonly user: string
  readonly subscription: string
}

/**
 * Signs the addresses under which a subscription ends: whoever got the mail needs nothing else. They never expire, because
 * old mails must work. RFC 8058.
 *
 * The signature is HMAC-SHA-256 over tenant, user and subscription, a line each: none of them can hold the end of a line.
 */
export class UnsubscribeUrls {
  readonly #key: Uint8Array

  constructor(key: Uint8Array) {
    this.#key = key
  }

  /** `base`: `https://host`, without a slash at its end. */
  urlOf(base: string, of: UnsubscribeSubject): string {
    const query = new URLSearchParams({ tenant: of.tenant, user: of.user, sig: this.#signatureOf(of) })
    return `${base}/api/v1/notifications/unsubscribe/${of.subscription}?${query}`
  }

  /** Whether we signed it. */
  isGood(of: UnsubscribeSubject, sig: string): boolean {
    const right = Buffer.from(this.#signatureOf(of))
    const given = Buffer.from(sig)
    return given.length === right.length && timingSafeEqual(given, right)
  }

  #signatureOf({ tenant, user, subscription }: UnsubscribeSubject): string {
    return createHmac('sha256', this.#key)
      .update(`unsubscribe\n${tenant}\n${user}\n${subscription}`)
      .digest('base64url')
  }
}
