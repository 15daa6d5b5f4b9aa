/** The keys that tokens are signed with, by `kid`. */
export interface SigningKeysState {
  readonly keys: Map<string, StoredSigningKey>
}

export interface StoredSigningKey {
  readonly kid: string
  /** The private key, encrypted with the key file. */
  readonly sealed: Uint8Array
  /**
   * Identifies the key file. With another key file the key cannot be decrypted, and that must be distinguishable from
   * damage.
   */
  readonly fingerprint: Uint8Array
  /** Unix ms. */
  readonly createdAt: number
  /** When the last token it signed has expired; null while it signs. */
  readonly retiresAt: number | null
}

/** The key that signs. */
export function signingKeyOf({ keys }: SigningKeysState): StoredSigningKey | undefined {
  return [...keys.values()].find(({ retiresAt }) => retiresAt === null)
}
