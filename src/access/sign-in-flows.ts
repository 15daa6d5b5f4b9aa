import type { SignInCounts } from '#access/auth-counts'
import { basicToken } from '#access/basic-login'
import { FactorConfirmations } from '#access/factor-confirmation'
import { accountOfId, attemptKeyOf, type Match, renewHash, usersWithPassword } from '#access/password-attempt'
import { changeEmail, changePassword } from '#access/password-change'
import type { LoginOutcome, LoginRequest, SignInOrigin, SignOutRequest, SignUpRequest } from '#access/requests'
import { hashOf } from '#access/secret-text'
import { boundSession, refresh, refreshBasic } from '#access/session-refresh'
import {
  accountAtVersion,
  beginDpopSession,
  identifyUser,
  needsSecondFactor,
  type SignInParts,
  tenantOf,
  withOneRetry,
  wrongCredentials,
} from '#access/sign-in'
import { totpFlowsOf } from '#access/totp-flows'
import type { Webauthn } from '#access/webauthn'
import { webauthnFlowsOf } from '#access/webauthn-flows'
import { codeOf } from '#actors/account/credentials'
import { type AccessCode, accountAddress, type Factors, factorNames, type RedeemCode } from '#actors/account/state'
import { emailUseMax, rowByName, rowsByLogin } from '#actors/directory/queries'
import { type DirectoryState, directoryAddress, type TenantRow, type UserRow } from '#actors/directory/state'
import { tenantAddress } from '#actors/tenant/commands'
import { grantsOfRoles } from '#actors/tenant/roles'
import { proofProblem } from '#http/authentication'
import { idOfCrn } from '#model/crn'
import { Problem } from '#model/problem'
import { isPermitted } from '#model/scope'
import { foldEmail } from '#model/user'

export type Logins = ReturnType<typeof loginsOf>
export type SecondFactors = ReturnType<typeof secondFactorsOf>

/**
 * The flows of passwords and tokens. Sign-ins, sign-ups and refreshes are counted. A synchronous error also becomes a
 * rejection. Contract 2.
 */
export function loginsOf(parts: SignInParts, counts: SignInCounts) {
  const flow =
    <R, A>(run: (parts: SignInParts, request: R) => Promise<A>) =>
    async (request: R) =>
      run(parts, request)
  return {
    logIn: counts.countOutcomes('login', flow(logIn), ({ type }) => (type === 'pair' ? 'ok' : type)),
    basicToken: counts.countOutcomes('basic', flow(basicToken)),
    refresh: counts.countOutcomes('refresh', flow(refresh)),
    refreshBasic: counts.countOutcomes('basic_refresh', flow(refreshBasic)),
    signUp: counts.countOutcomes('sign_up', flow(signUp)),
    signOut: flow(signOut),
    changePassword: flow(changePassword),
    changeEmail: flow(changeEmail),
  }
}

/** The flows of second factors. Each use of a factor is counted. Contract 2, Second factor. */
export function secondFactorsOf(parts: SignInParts, webauthn: Webauthn, counts: SignInCounts) {
  const confirmations = new FactorConfirmations(parts)
  const { useTotp, useRecovery, ...totpFlows } = totpFlowsOf(parts, confirmations)
  const { authenticateWebauthn, ...webauthnFlows } = webauthnFlowsOf(parts, confirmations, webauthn)
  return {
    ...totpFlows,
    ...webauthnFlows,
    useTotp: counts.countOutcomes('totp', useTotp),
    useRecovery: counts.countOutcomes('recovery', useRecovery),
    authenticateWebauthn: counts.countOutcomes('webauthn', authenticateWebauthn),
  }
}

/**
 * The most accounts whose hashes a sign-in checks. One mail address can belong to accounts in several tenants. Every
 * sign-in checks at least as many hashes as the mail address with the most accounts needs, up to this number. So the
 * time of an answer does not reveal the number of accounts. Contract 2, Login.
 */
const candidatesMax = 8

/** Lifetimes of 2FA tokens: for the use of a factor, and for setting up the first factor. Contract 2, Login. */
const secondFactorMs = 300_000
const enrollmentMs = 900_000

/** `POST /auth/login`. §5.2.7, §5.2.8, contract 2. */
function logIn(parts: SignInParts, request: LoginRequest): Promise<LoginOutcome> {
  const { jkt } = request
  if (jkt === undefined) throw proofProblem('missing proof')
  return withOneRetry(() => logInOnce(parts, request, jkt))
}

async function logInOnce(parts: SignInParts, request: LoginRequest, jkt: string): Promise<LoginOutcome> {
  const { email, password, origin } = request
  const { system } = parts
  const matches = await usersWithPassword(parts, {
    text: email,
    password,
    origin,
    rows: () => candidates(system.wake(directoryAddress), request),
    hashesMin: () => Math.min(Math.max(emailUseMax(system.wake(directoryAddress)), 1), candidatesMax),
  })
  const [match, ...others] = onePerTenant(matches, email)
  if (!match) throw wrongCredentials()
  if (others.length > 0) return { type: 'conflict', tenants: tenantsOf(parts, [match, ...others]) }
  await renewHash(parts, match, password, origin)
  return complete(parts, match, jkt, origin)
}

/** The accounts that a name or mail address can mean, among those that may sign in under the host of the request. */
function candidates(directory: DirectoryState, { email, tenantIdentifier, origin }: LoginRequest): readonly UserRow[] {
  return rowsByLogin(directory, email, origin.host)
    .filter(({ tenant }) => tenantIdentifier === undefined || tenant === tenantIdentifier)
    .slice(0, candidatesMax)
}

/**
 * In one tenant, one user's name may be another user's mail address, and both may have this password. Then the user
 * with the mail address signs in.
 */
function onePerTenant(matches: readonly Match[], email: string): readonly Match[] {
  const byTenant = new Map<string, Match>()
  for (const match of matches) {
    const isAddress = match.row.email !== null && foldEmail(match.row.email) === foldEmail(email)
    if (isAddress || !byTenant.has(match.tenant)) byTenant.set(match.tenant, match)
  }
  return [...byTenant.values()]
}

function tenantsOf(parts: SignInParts, matches: readonly Match[]): readonly TenantRow[] {
  return matches.map(({ row }) => tenantOf(parts, row))
}

/** The password was right: returns a session, or the next step towards one. */
async function complete(parts: SignInParts, match: Match, jkt: string, origin: SignInOrigin): Promise<LoginOutcome> {
  const account = accountAtVersion(parts, match)
  const tenant = tenantOf(parts, match.row)
  if (!needsSecondFactor(tenant, account))
    return { type: 'pair', ...(await beginDpopSession(parts, match, jkt, origin)) }
  const isEnrolling = factorNames(account.factors).length === 0
  const lifetimeMs = isEnrolling ? enrollmentMs : secondFactorMs
  const { user, version } = match
  return {
    type: 'second_factor',
    token: await parts.tokens.issueSecondFactor({ tenant: match.tenant, user, version, jkt, isEnrolling, lifetimeMs }),
    expiresIn: lifetimeMs / 1000,
    methods: isEnrolling ? ['totp', 'webauthn'] : methodsOf(account.factors),
    enroll: isEnrolling,
  }
}

function methodsOf(factors: Factors): readonly ('totp' | 'webauthn' | 'recovery')[] {
  return [...factorNames(factors), ...(factors.recovery.length > 0 ? (['recovery'] as const) : [])]
}

/** `POST /auth/logout`. §5.2.10, contract 2, Sign-out. */
async function signOut(parts: SignInParts, request: SignOutRequest): Promise<void> {
  const { tenant, user, session } = sessionOf(parts, request)
  try {
    await parts.system.ask(accountAddress(tenant, user), {
      type: 'end_sessions',
      ...(!request.isAll && { only: session }),
    })
  } catch (error) {
    // Another request ended the session in the meantime.
    if (!(error instanceof Problem && error.code === 'not_found')) throw error
  }
}

function sessionOf(
  parts: SignInParts,
  { caller, refreshToken, origin }: SignOutRequest,
): { readonly tenant: string; readonly user: string; readonly session: string } {
  const user = idOfCrn(caller.user, 'user')
  if (caller.session?.kind === 'session' && user !== undefined) {
    return { tenant: caller.tenant, user, session: caller.session.id }
  }
  if (refreshToken === undefined) {
    const details = [{ path: 'refreshToken', message: 'is needed without an access token' }]
    throw new Problem('invalid', undefined, { details })
  }
  const { token, stored } = boundSession(parts, refreshToken, caller.jkt, { origin, isSignOut: true })
  return { tenant: token.tenant, user: stored.user, session: token.session }
}

/**
 * `POST /iam/signup`: sets the first password, or a new one. The answer does not reveal what is wrong with a code.
 * Contract 2, Sign-up.
 */
async function signUp(parts: SignInParts, request: SignUpRequest): Promise<{ readonly name: string }> {
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
