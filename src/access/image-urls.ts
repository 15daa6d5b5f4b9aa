import { createHmac, timingSafeEqual } from 'node:crypto'

/** The query of an image URL. */
export interface ImageQuery {
  readonly device: string
  /** Unix ms, as a text. */
  readonly exp: string
  readonly sig: string
}

/**
 * Signs image URLs: a URL allows its holder to read that image for that device until it expires. Contract 6.
 *
 * The signature is HMAC-SHA-256 over image, device and expiry, one per line; none can contain a line break. It does
 * not show whether the image or the device exists.
 */
export class ImageUrls {
  readonly #key: () => Uint8Array

  /** `key`: read for each URL, because the key is known only once identity is open. */
  constructor(key: () => Uint8Array) {
    this.#key = key
  }

  /** `device=…&exp=…&sig=…`. `sha256` in lower-case hex; `device` includes its tenant; `expiresAt` in Unix ms. */
  queryOf(sha256: string, device: string, expiresAt: number): string {
    const exp = String(expiresAt)
    return `device=${encodeURIComponent(device)}&exp=${exp}&sig=${this.#signatureOf(sha256, device, exp)}`
  }

  /** Whether the server signed it for this image, and it has not expired. `query`: decoded values. */
  isValid(sha256: string, { device, exp, sig }: ImageQuery, now: number): boolean {
    const expected = Buffer.from(this.#signatureOf(sha256, device, exp))
    const actual = Buffer.from(sig)
    // Checked after the signature, so `exp` is a number in the server's own format.
    return actual.length === expected.length && timingSafeEqual(actual, expected) && now < Number(exp)
  }

  #signatureOf(sha256: string, device: string, exp: string): string {
    return createHmac('sha256', this.#key()).update(`${sha256}\n${device}\n${exp}`).digest('base64url')
  }
}
