import { accountOf, checkFactorLimit, type FactorSubject, wrongFactor } from '#access/factor-subject'
import type { SignInOrigin } from '#access/requests'
import { hashOf, newRecoveryCodes, recoveryCodeOf } from '#access/secret-text'
import type { SignInParts } from '#access/sign-in'
import { openTotpSecret, totpStep } from '#access/totp'
import { accountAddress } from '#actors/account/state'
import { Problem } from '#model/problem'

/** Checks of codes. A valid code is used up. An invalid code is counted, for any reason. Contract 2, Second factor. */

/** @throws Problem `unauthorized`, `too_many_requests` */
export async function takeTotp(
  parts: SignInParts,
  subject: FactorSubject,
  code: string,
  origin: SignInOrigin,
): Promise<void> {
  const { world, system } = parts
  const { row } = subject
  checkFactorLimit(parts, subject, origin)
  const secret = openTotpSecret(parts, row, accountOf(parts, subject))
  const step = secret && totpStep(secret, code, world.now())
  if (step === undefined) throw await wrongFactor(parts, subject, origin)
  await useFactor(parts, subject, origin, system.ask(accountAddress(row.tenant, row.id), { type: 'use_totp', step }))
}

/** @throws Problem `unauthorized`, `too_many_requests` */
export async function takeRecoveryCode(
  parts: SignInParts,
  subject: FactorSubject,
  code: string,
  origin: SignInOrigin,
): Promise<void> {
  const { row } = subject
  checkFactorLimit(parts, subject, origin)
  const hash = hashOf(recoveryCodeOf(code))
  await useFactor(
    parts,
    subject,
    origin,
    parts.system.ask(accountAddress(row.tenant, row.id), { type: 'use_recovery', hash }),
  )
}

/** Six digits are a TOTP code; any other text is a recovery code. */
export function takeCode(
  parts: SignInParts,
  subject: FactorSubject,
  code: string,
  origin: SignInOrigin,
): Promise<void> {
  return /^[0-9]{6}$/.test(code)
    ? takeTotp(parts, subject, code, origin)
    : takeRecoveryCode(parts, subject, code, origin)
}

/** Waits for the turn that uses up a factor. A code that was used before is counted like any wrong code. */
export async function useFactor(
  parts: SignInParts,
  subject: FactorSubject,
  origin: SignInOrigin,
  turn: Promise<unknown>,
): Promise<void> {
  try {
    await turn
  } catch (error) {
    if (error instanceof Problem && error.code === 'unauthorized') throw await wrongFactor(parts, subject, origin)
    throw error
  }
}

/** Recovery codes for the user, and their hashes for the store. Each code replaces a lost factor once. */
export function freshRecoveryCodes({ world }: SignInParts): {
  readonly codes: readonly string[]
  readonly hashes: readonly Uint8Array[]
} {
  const codes = newRecoveryCodes((byteCount) => world.random(byteCount))
  return { codes, hashes: codes.map(hashOf) }
}
