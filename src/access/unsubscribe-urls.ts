import { createHmac, timingSafeEqual } from 'node:crypto'

/** Whose subscription an address ends. None of them can hold the end of a line. */
export interface UnsubscribeSubject {
  readonly tenant: string
  /** As the subscription names its owner. */
  readonly user: string
  readonly subscription: string
}

const path = '/api/v1/notifications/unsubscribe/'

/**
 * Signs the addresses in `List-Unsubscribe`: whoever has the mail may end the subscription it came by, and nothing else.
 * RFC 8058.
 *
 * The signature is HMAC-SHA-256 over its use, tenant, user and subscription, a line each. It never expires, since old mail
 * must work, and says nothing about whether there is such a subscription (still).
 */
export class UnsubscribeUrls {
  readonly #key: () => Uint8Array

  /** `key`: asked for with every address, because the key is known once identity is open. */
  constructor(key: () => Uint8Array) {
    this.#key = key
  }

  /** `base`: scheme and host, with a path in front of ours if there is one, and no slash at the end. */
  urlOf(base: string, subject: UnsubscribeSubject): string {
    const { tenant, user, subscription } = subject
    const query = `tenant=${encodeURIComponent(tenant)}&user=${encodeURIComponent(user)}`
    return `${base}${path}${encodeURIComponent(subscription)}?${query}&sig=${this.#signatureOf(subject)}`
  }

  /** Whether we signed it, for this subscription of this user. */
  isGood(subject: UnsubscribeSubject, sig: string): boolean {
    const right = Buffer.from(this.#signatureOf(subject))
    const given = Buffer.from(sig)
    return given.length === right.length && timingSafeEqual(given, right)
  }

  #signatureOf({ tenant, user, subscription }: UnsubscribeSubject): string {
    const said = `unsubscribe\n${tenant}\n${user}\n${subscription}`
    return createHmac('sha256', this.#key()).update(said).digest('base64url')
  }
}
