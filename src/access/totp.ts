import { Secret, TOTP } from 'otpauth'
import type { Random } from '#access/random'
import { open, seal } from '#access/seal'
import type { SignInParts } from '#access/sign-in'
import type { AccountState } from '#actors/account/state'
import type { UserRow } from '#actors/directory/state'

/**
 * One-time passwords by time: SHA-1, six digits, 30 s, as every authenticator app takes for granted. RFC 6238.
 *
 * A code is good in its own step and in the ones beside it (RFC 6238 §5.2: clocks differ). That it is good once is the
 * account's to see to: it keeps the last step used, which is why the step is the answer here.
 */

export const totpStepMs = 30_000
const digits = 6
const stepsBeside = 1
/** 160 bits, as long as the hash. RFC 4226 §4. */
const secretBytes = 20

export function newTotpSecret(random: Random): Uint8Array {
  return random(secretBytes)
}

/** As people type it into an app. */
export function totpSecretText(secret: Uint8Array): string {
  return secretOf(secret).base32
}

/** What an app reads from a QR code: `otpauth://totp/…`. `account`: who it is for, as he knows himself. */
export function totpUri(of: {
  readonly secret: Uint8Array
  readonly issuer: string
  readonly account: string
}): string {
  return totpOf(of.secret, of.issuer, of.account).toString()
}

/** The step that this code belongs to; undefined when it is none of these minutes. Compared in constant time. */
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
  // A copy: the library takes the whole buffer that the bytes lie in.
  return new Secret({ buffer: new Uint8Array(secret).buffer })
}

/** A TOTP secret rests sealed, for one user alone. Undone by `openTotpSecret`. */
export function sealTotpSecret({ world, fileKeys }: SignInParts, row: UserRow, secret: Uint8Array): Uint8Array {
  return seal(fileKeys().seal, secret, contextOf(row), (byteCount) => world.random(byteCount))
}

/** Undefined: he has none. Undone by `sealTotpSecret`. */
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
