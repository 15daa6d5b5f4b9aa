import { createHmac, timingSafeEqual } from 'node:crypto'

/** Signs texts by HMAC-SHA-256. */
class Signatures {
  readonly #key: () => Uint8Array

  /** `key` is called for each URL, because the key is known only once identity is open. */
  constructor(key: () => Uint8Array) {
    this.#key = key
  }

  protected sign(text: string): string {
    return createHmac('sha256', this.#key()).update(text).digest('base64url')
  }

  /** Takes the same time for every wrong signature, so that the time reveals nothing. */
  protected isSigned(text: string, sig: string): boolean {
    const [actual, wanted] = [Buffer.from(sig), Buffer.from(this.sign(text))]
    return actual.length === wanted.length && timingSafeEqual(actual, wanted)
  }
}

export interface ImageQuery {
  readonly device: string
  /** Unix ms, as a text. */
  readonly exp: string
  readonly sig: string
}

/**
 * Signs image URLs: a URL allows its holder to read that image for that device until it expires. Contract 6.
 *
 * The signature is HMAC-SHA-256 over image, device and expiry, one per line. None of them can contain a line break. The
 * signature does not show whether the image or the device exists.
 */
export class ImageUrls extends Signatures {
  /** Returns `device=…&exp=…&sig=…`. `sha256` is lower-case hex, `device` has its tenant, `expiresAt` is Unix ms. */
  queryOf(sha256: string, device: string, expiresAt: number): string {
    const exp = String(expiresAt)
    return `device=${encodeURIComponent(device)}&exp=${exp}&sig=${this.sign(textOf(sha256, device, exp))}`
  }

  /** Whether the server signed this query for this image, and the URL has not expired. The values are decoded. */
  isValid(sha256: string, { device, exp, sig }: ImageQuery, now: number): boolean {
    // The expiry is checked after the signature, so `exp` is a number in the server's own format.
    return this.isSigned(textOf(sha256, device, exp), sig) && now < Number(exp)
  }
}

function textOf(sha256: string, device: string, exp: string): string {
  return `${sha256}\n${device}\n${exp}`
}

/** The subscription that a URL ends. No field can contain a line break. */
export interface UnsubscribeSubject {
  readonly tenant: string
  /** Spelled as in the subscription's field for its owner. */
  readonly user: string
  readonly subscription: string
}

const path = '/api/v1/notifications/unsubscribe/'

/**
 * Signs the URLs in `List-Unsubscribe`: anyone with the mail may end the subscription that sent it, and nothing more.
 * RFC 8058.
 *
 * The signature is HMAC-SHA-256 over purpose, tenant, user and subscription, one per line. It never expires, because
 * the links in old mails must work. It does not show whether the subscription still exists.
 */
export class UnsubscribeUrls extends Signatures {
  /** `base`: scheme and host, an optional path prefix, and no slash at the end. */
  urlOf(base: string, subject: UnsubscribeSubject): string {
    const { tenant, user, subscription } = subject
    const query = `tenant=${encodeURIComponent(tenant)}&user=${encodeURIComponent(user)}`
    return `${base}${path}${encodeURIComponent(subscription)}?${query}&sig=${this.sign(textOfSubject(subject))}`
  }

  /** Whether the server made this signature for this subscription of this user. */
  isValid(subject: UnsubscribeSubject, sig: string): boolean {
    return this.isSigned(textOfSubject(subject), sig)
  }
}

function textOfSubject({ tenant, user, subscription }: UnsubscribeSubject): string {
  return `unsubscribe\n${tenant}\n${user}\n${subscription}`
}
