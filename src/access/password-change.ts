import { accountOfId, accountsOf } from '#access/password-attempt'
import type { PasswordRequest, SignInPlace } from '#access/requests'
import { type SignInParts, withOneRetry, wrongCredentials } from '#access/sign-in'
import { accountAddress } from '#actors/account/commands'
import { directoryAddress } from '#actors/directory/commands'
import { rowById } from '#actors/directory/queries'
import type { UserRow } from '#actors/directory/state'
import { idOfCrn } from '#model/crn'
import { Problem } from '#model/problem'

/** `PUT /auth/password`. Ends the other sessions. Contract 2. */
export function changePassword(parts: SignInParts, request: PasswordRequest): Promise<void> {
  return withOneRetry(() => changePasswordOnce(parts, request))
}

async function changePasswordOnce(parts: SignInParts, request: PasswordRequest): Promise<void> {
  const { caller, current, password, place } = request
  const user = idOfCrn(caller.user, 'user')
  if (user === undefined || caller.session?.kind !== 'session') throw new Problem('forbidden')
  const row = rowById(parts.system.wake(directoryAddress), user)
  if (!row) throw wrongCredentials()
  const { version } = await verifyPassword(parts, row, current, place)
  const passwordHash = await parts.passwords.hash(password, place)
  const keep = caller.session.id
  await parts.system.ask(accountAddress(caller.tenant, user), { type: 'set_password', version, passwordHash, keep })
}

/** Verifies the password of a signed-in user again. Failures count for the name and the address of the user. */
export async function verifyPassword(
  { system, passwords, attempts }: SignInParts,
  row: UserRow,
  password: string,
  place: SignInPlace,
): Promise<{ readonly version: number }> {
  const { address } = place
  const candidates = () => {
    attempts.check(address, accountOfId(row.id))
    const { credentials } = system.peek(accountAddress(row.tenant, row.id))
    return [{ hash: credentials?.hash ?? undefined, version: credentials?.version }]
  }
  attempts.check(address, accountOfId(row.id))
  const version = await passwords.verify(candidates, password, place, ([right]) => {
    if (!right) attempts.failed(address, ...accountsOf(row))
    return right?.version
  })
  if (version === undefined) throw wrongCredentials()
  return { version }
}
