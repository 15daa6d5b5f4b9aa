import type { PasswordRequest } from '#identity/requests'
import { type SignInParts, startingOverOnce, wrongCredentials } from '#identity/sign-in'
import { idOfCrn } from '#model/crn'
import { Problem } from '#model/problem'

/** `PUT /auth/password`. Ends the other sessions. Contract 2. */
export function changePassword(parts: SignInParts, request: PasswordRequest): Promise<void> {
  return startingOverOnce(() => changePasswordOnce(parts, request))
}

async function changePasswordOnce(parts: SignInParts, request: PasswordRequest): Promise<void> {
  const { caller, current, password, place } = request
  const user = idOfCrn(caller.user, 'user')
  if (user === undefined || caller.session?.kind !== 'session') throw new Problem('forbidden')
  const { version } = await verifyPassword(parts, { tenant: caller.tenant, user }, current, place)
  const passwordHash = await parts.passwords.hash(password)
  const keep = caller.session.id
  await parts.states.askAccount(caller.tenant, user, { type: 'set_password', version, passwordHash, keep })
}

/** The password of somebody who is signed in, shown once more. Wrong ones count. */
export async function verifyPassword(
  { states, passwords, attempts }: SignInParts,
  { tenant, user }: { readonly tenant: string; readonly user: string },
  password: string,
  { address }: { readonly address: string },
): Promise<{ readonly version: number }> {
  const look = () => {
    attempts.check(address)
    attempts.check(address, user)
  }
  look()
  const { credentials } = states.account(tenant, user)
  const wrong = () => attempts.failed(address, user)
  const isRight = await passwords.verify(credentials?.hash ?? undefined, password, look, wrong)
  if (!isRight || !credentials) throw wrongCredentials()
  return { version: credentials.version }
}
