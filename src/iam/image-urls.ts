/** Signs the addresses of images: whoever has one may read that image for that device until it expires. Contract 6. */
export interface ImageUrls {
  /** `device=…&exp=…&sig=…`; `expiresAt` in Unix ms. */
  queryOf(sha256: string, device: string, expiresAt: number): string
  /** Whether we signed it, for this image, and it has not expired. */
  isGood(sha256: string, query: ImageQuery, now: number): boolean
}

export interface ImageQuery {
  readonly device: string
  readonly exp: string
  readonly sig: string
}
