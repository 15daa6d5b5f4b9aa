import { FactorConfirmations, totpFlowsOf } from '#access/factor-codes'
import type {
  BasicRefreshRequest,
  BasicRequest,
  BasicTokens,
  EmailRequest,
  LoginOutcome,
  LoginRequest,
  PasswordRequest,
  RefreshRequest,
  SignInOrigin,
  SignOutRequest,
  SignUpRequest,
} from '#access/requests'
import { hashOf, readBasic } from '#access/secret-text'
import {
  accountAtVersion,
  accountOfId,
  activeSession,
  attemptKeyOf,
  beginBasicSession,
  beginDpopSession,
  identifyUser,
  issueBasicTokens,
  issueTokenPair,
  type Match,
  needsSecondFactor,
  refuseBasic,
  renewHash,
  type SignInCounts,
  type SignInParts,
  tenantOf,
  usersWithPassword,
  verifyPassword,
  withOneRetry,
  wrongCredentials,
  wrongRefreshToken,
} from '#access/sign-in'
import { hasValidMac, type RefreshToken, readRefreshToken } from '#access/tokens'
import { type Webauthn, webauthnFlowsOf } from '#access/webauthn'
import { codeOf } from '#actors/account/credentials'
import {
  type AccessCode,
  type AccountCommand,
  type AccountState,
  accountAddress,
  type Factors,
  factorNames,
} from '#actors/account/state'
import { emailUseMax, isReachable, rowById, rowByName, rowsByLogin } from '#actors/directory/queries'
import { type DirectoryState, directoryAddress, type TenantRow, type UserRow } from '#actors/directory/state'
import { type Rotation, type StoredSession, sessionAddress } from '#actors/session/state'
import { tenantAddress } from '#actors/tenant/commands'
import { grantsOfRoles } from '#actors/tenant/roles'
import type { TokenPair } from '#api/sign-in'
import { proofProblem } from '#http/authentication'
import type { Caller } from '#model/caller'
import { idOfCrn } from '#model/crn'
import { Problem } from '#model/problem'
import { isPermitted } from '#model/scope'
import { foldEmail } from '#model/user'

export type Logins = ReturnType<typeof loginsOf>
export type SecondFactors = ReturnType<typeof secondFactorsOf>

/** The flows of passwords and tokens. Sign-ins, sign-ups and refreshes are counted. Contract 2. */
export function loginsOf(parts: SignInParts, counts: SignInCounts) {
  const flow =
    <R, A>(run: (parts: SignInParts, request: R) => Promise<A>) =>
    (request: R) =>
      withOneRetry(() => run(parts, request))
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
async function logIn(parts: SignInParts, request: LoginRequest): Promise<LoginOutcome> {
  const { email, password, jkt, origin } = request
  if (jkt === undefined) throw proofProblem('missing proof')
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

function methodsOf(factors: Factors): ('totp' | 'webauthn' | 'recovery')[] {
  return [...factorNames(factors), ...(factors.recovery.length > 0 ? (['recovery'] as const) : [])]
}

/** `GET /iam/token`. §5.1.2, contract 2, Basic scheme. */
async function basicToken(parts: SignInParts, request: BasicRequest): Promise<BasicTokens> {
  const { system, attempts } = parts
  const { authorization, isOffline, origin } = request
  attempts.check(origin.address)
  if (authorization === '') throw new Problem('unauthorized', 'authentication required')
  const credentials = readBasic(authorization)
  if (!credentials) {
    attempts.recordFailure(origin.address)
    throw wrongCredentials()
  }
  const { name, password } = credentials
  const rows = () => {
    const row = rowByName(system.wake(directoryAddress), name)
    return row?.state === 'active' && isReachable(system.wake(directoryAddress), row.tenant, origin.host) ? [row] : []
  }
  const [match] = await usersWithPassword(parts, { text: name, password, origin, rows, hashesMin: () => 1 })
  if (!match) throw wrongCredentials()
  await renewHash(parts, match, password, origin)
  refuseBasic(tenantOf(parts, match.row), accountAtVersion(parts, match))
  return beginBasicSession(parts, match, isOffline, origin)
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
      const command: AccountCommand = { type: 'redeem_code', codeHash, passwordHash }
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

/** `POST /auth/token`. Contract 2, Refresh. */
async function refresh(parts: SignInParts, { refreshToken, jkt, origin }: RefreshRequest): Promise<TokenPair> {
  const { token, stored } = boundSession(parts, refreshToken, jkt, { origin, isSignOut: false })
  const { tenant, session, number } = token
  refuseWithoutFactor(tenantOf(parts, { tenant }), parts.system.peek(accountAddress(tenant, stored.user)))
  const next = await rotate(parts, tenant, session, number)
  return issueTokenPair(parts, { tenant, session, ...next, user: stored.user, jkt: stored.jkt ?? '' })
}

/**
 * The session of a refresh token of the DPoP scheme. Checks that `jkt` is the key that the session is bound to. Changes
 * nothing. The user must be allowed to sign in under the host of the request, except for a sign-out.
 */
function boundSession(
  parts: SignInParts,
  text: string,
  jkt: string | undefined,
  { origin, isSignOut }: { readonly origin: SignInOrigin; readonly isSignOut: boolean },
): { readonly token: RefreshToken; readonly stored: StoredSession } {
  if (jkt === undefined) throw proofProblem('missing proof')
  const token = readRefreshToken(text)
  const stored = token && activeSession(parts, token, 'dpop', isSignOut ? undefined : origin.host)
  const bound = stored?.jkt ?? undefined
  if (!stored || bound === undefined || !hasValidMac(parts.fileKeys().refresh, token, bound)) throw wrongRefreshToken()
  identifyUser(origin, { tenant: token.tenant, user: stored.user })
  if (bound !== jkt) throw proofProblem('key mismatch')
  return { token, stored }
}

/** `POST /iam/token`. Checks new requirements of the tenant or the user before the token is used up. */
async function refreshBasic(parts: SignInParts, { refreshToken, origin }: BasicRefreshRequest): Promise<BasicTokens> {
  const token = await parts.tokens.readBasicRefresh(refreshToken)
  const stored = token && activeSession(parts, token, 'basic', origin.host)
  if (!stored) throw wrongRefreshToken()
  const { tenant, session, number } = token
  identifyUser(origin, { tenant, user: stored.user })
  refuseBasic(tenantOf(parts, { tenant }), parts.system.peek(accountAddress(tenant, stored.user)))
  const next = await rotate(parts, tenant, session, number)
  return issueBasicTokens(parts, { tenant, session, ...next, user: stored.user })
}

/** If the tenant now requires a second factor, a user without a factor has to sign in again, and to set one up. */
function refuseWithoutFactor({ twoFactor }: TenantRow, { factors }: AccountState): void {
  if (twoFactor === 'required' && factorNames(factors).length === 0) throw wrongRefreshToken()
}

/**
 * Returns the number of the next refresh token. A number that was used before ends the session, unless a session of the
 * DPoP scheme repeats its last rotation within seconds.
 */
async function rotate(
  { world, system, lifetimes }: SignInParts,
  tenant: string,
  session: string,
  number: number,
): Promise<{ readonly number: number; readonly endsAt: number }> {
  const endsAt = world.now() + lifetimes.refreshMs
  const rotation = (await system.ask(sessionAddress(tenant, session), { type: 'rotate', number, endsAt })) as Rotation
  if (!('number' in rotation)) throw wrongRefreshToken()
  return { number: rotation.number, endsAt: rotation.endsAt }
}

/** `PUT /auth/password`. Ends the other sessions. Contract 2. */
async function changePassword(parts: SignInParts, request: PasswordRequest): Promise<void> {
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
async function changeEmail(parts: SignInParts, request: EmailRequest): Promise<void> {
  const { caller, current, email, origin } = request
  const { row } = signedInUser(parts, caller)
  await verifyPassword(parts, row, current, origin)
  await parts.system.ask(directoryAddress, { type: 'update_user', user: row.id, email })
}

function signedInUser({ system }: SignInParts, { user, session }: Caller): { row: UserRow; session: string } {
  const id = idOfCrn(user, 'user')
  if (id === undefined || session?.kind !== 'session') throw new Problem('forbidden')
  const row = rowById(system.wake(directoryAddress), id)
  if (!row) throw wrongCredentials()
  return { row, session: session.id }
}
