import { accountOfId, accountsOf } from '#access/password-attempt'
import type { EmailRequest, PasswordRequest, SignInOrigin } from '#access/requests'
import { type SignInParts, withOneRetry, wrongCredentials } from '#access/sign-in'
import { accountAddress } from '#actors/account/state'
import { rowById } from '#actors/directory/queries'
import { directoryAddress, type UserRow } from '#actors/directory/state'
import type { Caller } from '#model/caller'
import { idOfCrn } from '#model/crn'
import { Problem } from '#model/problem'

/** `PUT /auth/password`. Ends the other sessions. Contract 2. */
export function changePassword(parts: SignInParts, request: PasswordRequest): Promise<void> {
  return withOneRetry(() => changePasswordOnce(parts, request))
}

async function changePasswordOnce(parts: SignInParts, request: PasswordRequest): Promise<void> {
  const { caller, current, password, origin } = request
  const { row, session: keep } = signedInUser(parts, caller)
  const { version } = await verifyPassword(parts, row, current, origin)
  const passwordHash = await parts.passwords.hash(password, origin)
  await parts.system.ask(accountAddress(row.tenant, row.id), { type: 'set_password', version, passwordHash, keep })
}

/**
 * `PUT /auth/email`. Requires the password, because the mail address is a name for the sign-in, and codes for a new
 * password are mailed to it.
 */
export function changeEmail(parts: SignInParts, request: EmailRequest): Promise<void> {
  return withOneRetry(async () => {
    const { caller, current, email, origin } = request
    const { row } = signedInUser(parts, caller)
    await verifyPassword(parts, row, current, origin)
    await parts.system.ask(directoryAddress, { type: 'update_user', user: row.id, email })
  })
}

function signedInUser({ system }: SignInParts, { user, session }: Caller): { row: UserRow; session: string } {
  const id = idOfCrn(user, 'user')
  if (id === undefined || session?.kind !== 'session') throw new Problem('forbidden')
  const row = rowById(system.wake(directoryAddress), id)
  if (!row) throw wrongCredentials()
  return { row, session: session.id }
}

/**
 * Verifies the password of a signed-in user again. Failures count for the client address, and for the id, name and mail
 * address of the user.
 */
export async function verifyPassword(
  { system, passwords, attempts }: SignInParts,
  row: UserRow,
  password: string,
  origin: SignInOrigin,
): Promise<{ readonly version: number }> {
  const { address } = origin
  const candidates = () => {
    attempts.check(address, accountOfId(row.id))
    const { credentials } = system.peek(accountAddress(row.tenant, row.id))
    return [{ hash: credentials?.hash ?? undefined, version: credentials?.version }]
  }
  attempts.check(address, accountOfId(row.id))
  const version = await passwords.verify(candidates, password, origin, ([right]) => {
    if (!right) attempts.recordFailure(address, ...accountsOf(row))
    return right?.version
  })
  if (version === undefined) throw wrongCredentials()
  return { version }
}
