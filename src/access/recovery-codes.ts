import { hashOf, newRecoveryCodes } from '#access/secret-text'
import type { SignInParts } from '#access/sign-in'

/** For a person to keep, and what is kept of them here. Each stands in once for a factor that was lost. */
export function freshRecoveryCodes({ world }: SignInParts): {
  readonly codes: readonly string[]
  readonly hashes: readonly Uint8Array[]
} {
  const codes = newRecoveryCodes((byteCount) => world.random(byteCount))
  return { codes, hashes: codes.map(hashOf) }
}
