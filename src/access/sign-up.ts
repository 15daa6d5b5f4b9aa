import { accountOfId, attemptKeyOf } from '#access/password-attempt'
import type { SignUpRequest } from '#access/requests'
import { hashOf } from '#access/secret-text'
import { identifyUser, type SignInParts } from '#access/sign-in'
import { accountAddress, type RedeemCode } from '#actors/account/commands'
import { codeOf } from '#actors/account/credentials'
import type { AccessCode } from '#actors/account/state'
import { directoryAddress } from '#actors/directory/commands'
import { rowByName } from '#actors/directory/queries'
import type { UserRow } from '#actors/directory/state'
import { tenantAddress } from '#actors/tenant/commands'
import { grantsOfRoles } from '#actors/tenant/roles'
import { Problem } from '#model/problem'
import { isPermitted } from '#model/scope'

/**
 * `POST /iam/signup`: sets the first password, or a new one. The answer does not reveal what is wrong with a code.
 * Contract 2, Sign-up.
 */
export async function signUp(parts: SignInParts, request: SignUpRequest): Promise<{ readonly name: string }> {
  const { world, system, passwords, attempts } = parts
  const { name, code, password, origin } = request
  // The answer must not reveal whether the name exists, so the limit depends on the typed name, not on the account.
  attempts.check(origin.address, attemptKeyOf(name))
  const row = rowByName(system.wake(directoryAddress), name)
  if (row) identifyUser(origin, { ...row, user: row.id })
  const refuse = () => {
    attempts.recordFailure(origin.address, attemptKeyOf(name), ...(row ? [accountOfId(row.id)] : []))
    return new Problem('unauthorized', 'invalid or expired code')
  }
  const codeHash = hashOf(code)
  const hasValidCode = (userRow: UserRow | undefined) => {
    if (!userRow || userRow.state === 'disabled') return false
    const storedCode = codeOf(system.peek(accountAddress(userRow.tenant, userRow.id)), codeHash, world.now())
    return storedCode !== undefined && mayStillGive(parts, storedCode, userRow)
  }
  if (!row || !hasValidCode(row)) throw refuse()
  const passwordHash = await passwords.hash(password, origin)
  try {
    await system.askAtOnce(() => {
      // By now, the tenant may have been deleted together with the user, or the user may have other roles.
      const userRow = rowByName(system.wake(directoryAddress), name)
      if (userRow?.id !== row.id || !hasValidCode(userRow)) throw new Problem('unauthorized')
      const command: RedeemCode = { type: 'redeem_code', codeHash, passwordHash }
      return { to: accountAddress(row.tenant, row.id), command }
    })
  } catch (error) {
    throw error instanceof Problem && error.code === 'unauthorized' ? refuse() : error
  }
  return { name: row.name }
}

/** Uses the roles in memory. These include edits that are not stored yet, but may be when the code is used. */
function mayStillGive(
  { authors, system }: SignInParts,
  { createdBy }: AccessCode,
  { tenant, roles }: UserRow,
): boolean {
  if (!createdBy) return true
  const scope = authors.scopeOf(createdBy.tenant, createdBy.user)
  if (!isPermitted(scope, 'users', 'create') && !isPermitted(scope, 'users', 'update')) return false
  return authors.mayGive(createdBy, tenant, grantsOfRoles(system.wake(tenantAddress(tenant)), roles))
}
