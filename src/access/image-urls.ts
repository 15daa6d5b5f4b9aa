import { createHmac, timingSafeEqual } from 'node:crypto'

/** What the address of an image says beside which image it is. */
export interface ImageQuery {
  readonly device: string
  /** Unix ms, as a text. */
  readonly exp: string
  readonly sig: string
}

/**
 * Signs the addresses of images: whoever has one may read that image for that device until it expires. Contract 6.
 *
 * The signature is HMAC-SHA-256 over image, device and expiry, a line each: none of them can hold the end of a line. It
 * says nothing about whether there is such an image, or such a device (still).
 */
export class ImageUrls {
  readonly #key: () => Uint8Array

  /** `key`: asked for with every address, because the key is known once identity is open. */
  constructor(key: () => Uint8Array) {
    this.#key = key
  }

  /** `device=…&exp=…&sig=…`. `sha256` in lower-case hex; `device` names its tenant too; `expiresAt` in Unix ms. */
  queryOf(sha256: string, device: string, expiresAt: number): string {
    const exp = String(expiresAt)
    return `device=${encodeURIComponent(device)}&exp=${exp}&sig=${this.#signatureOf(sha256, device, exp)}`
  }

  /** Whether we signed it, for this image, and it has not expired. `query` with its parts decoded. */
  isGood(sha256: string, { device, exp, sig }: ImageQuery, now: number): boolean {
    const right = Buffer.from(this.#signatureOf(sha256, device, exp))
    const given = Buffer.from(sig)
    // Only behind the signature `exp` is a number of ours, written as we write it.
    return given.length === right.length && timingSafeEqual(given, right) && now < Number(exp)
  }

  #signatureOf(sha256: string, device: string, exp: string): string {
    return createHmac('sha256', this.#key()).update(`${sha256}\n${device}\n${exp}`).digest('base64url')
  }
}
