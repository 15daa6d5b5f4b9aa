import type { Match } from '#access/password-attempt'
import type { SignInPlace } from '#access/requests'
import type { SignInParts } from '#access/sign-in'
import { accountAddress } from '#actors/account/address'
import { Problem } from '#model/problem'

/**
 * Hashes a password again if its stored hash was made with other parameters, after the password was shown: otherwise
 * the time of a check would reveal that the account exists. If the queue is full, the next sign-in does it.
 */
export async function renewHash(
  { system, passwords }: SignInParts,
  { tenant, user, version, hash }: Omit<Match, 'row'>,
  password: string,
  place: SignInPlace,
): Promise<void> {
  if (passwords.isCurrent(hash)) return
  try {
    const passwordHash = await passwords.hash(password, place)
    await system.ask(accountAddress(tenant, user), { type: 'renew_hash', version, passwordHash })
  } catch (error) {
    if (!(error instanceof Problem && error.code === 'overloaded')) throw error
  }
}
