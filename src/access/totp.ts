import { Secret, TOTP } from 'otpauth'
import { open, type Random, seal } from '#access/file-keys'
import type { SignInParts } from '#access/sign-in'
import type { AccountState } from '#actors/account/state'
import type { UserRow } from '#actors/directory/state'

/**
 * Time-based one-time passwords: SHA-1, six digits, 30 s, the defaults of every authenticator app. RFC 6238.
 *
 * A code is valid in its own step and the adjacent ones (RFC 6238 §5.2: clocks differ). The account ensures that a code
 * is used once by storing the last used step; this is why `totpStep` returns the step.
 */

export const totpStepMs = 30_000
const digits = 6
const stepsBeside = 1
/** 160 bits, as long as the hash. RFC 4226 §4. */
const secretBytes = 20

export function newTotpSecret(random: Random): Uint8Array {
  return random(secretBytes)
}

/** The form in which people type the secret into an app. */
export function totpSecretText(secret: Uint8Array): string {
  return secretOf(secret).base32
}

/** The content of the QR code: `otpauth://totp/…`. `account`: the user's name. */
export function totpUri(of: {
  readonly secret: Uint8Array
  readonly issuer: string
  readonly account: string
}): string {
  return totpOf(of.secret, of.issuer, of.account).toString()
}

/** The step of this code; undefined if the code belongs to none of the valid steps. Compares in constant time. */
export function totpStep(secret: Uint8Array, code: string, nowMs: number): number | undefined {
  if (!/^[0-9]{6}$/.test(code)) return undefined
  const delta = totpOf(secret).validate({ token: code, timestamp: nowMs, window: stepsBeside })
  return delta === null ? undefined : Math.floor(nowMs / totpStepMs) + delta
}

function totpOf(secret: Uint8Array, issuer = '', label = ''): TOTP {
  const period = totpStepMs / 1000
  return new TOTP({ secret: secretOf(secret), issuer, label, algorithm: 'SHA1', digits, period })
}

function secretOf(secret: Uint8Array): Secret {
  // A copy, because the library uses the whole underlying buffer, which may be larger.
  return new Secret({ buffer: new Uint8Array(secret).buffer })
}

/** Seals a TOTP secret of one user for the store. Inverse of `openTotpSecret`. */
export function sealTotpSecret({ world, fileKeys }: SignInParts, row: UserRow, secret: Uint8Array): Uint8Array {
  return seal(fileKeys().seal, secret, contextOf(row), (byteCount) => world.random(byteCount))
}

/** The TOTP secret of a user. Undefined: the user has none. Inverse of `sealTotpSecret`. */
export function openTotpSecret(
  { fileKeys }: SignInParts,
  row: UserRow,
  { factors }: AccountState,
): Uint8Array | undefined {
  if (!factors.totp) return undefined
  const secret = open(fileKeys().seal, factors.totp.secret, contextOf(row))
  if (!secret) throw new Error(`the TOTP secret of user ${row.id} is damaged`)
  return secret
}

function contextOf({ tenant, id }: UserRow): string {
  return `totp/${tenant}/${id}`
}
