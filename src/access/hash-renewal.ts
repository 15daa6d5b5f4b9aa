import type { Match } from '#access/guess'
import type { SignInPlace } from '#access/requests'
import type { SignInParts } from '#access/sign-in'
import { accountAddress } from '#actors/account/address'
import { Problem } from '#model/problem'

/**
 * A password whose hash was made at another cost is hashed anew once it has been shown: how long it takes to check would tell
 * that there is such an account. Where too many wait, at the next sign-in.
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
