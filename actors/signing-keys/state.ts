/** The keys that tokens are signed with, by `kid`. */
export interface SigningKeysState {
  readonly keys: Map<string, StoredSigningKey>
}

export interface StoredSigningKey {
  readonly kid: string
  /** The private key, sealed under the key file. */
  readonly sealed: Uint8Array
  /** Which key file that is: with another one it can't be opened, and that must not look like damage. */
  readonly fingerprint: Uint8Array
  /** Unix ms. */
  readonly createdAt: number
  /** When the last token it signed has ended; null while it signs. */
  readonly retiresAt: number | null
}

/** The one that signs. */
export function signingKeyOf({ keys }: SigningKeysState): StoredSigningKey | undefined {
  return [...keys.values()].find(({ retiresAt }) => retiresAt === null)
}
