import { type Match, renewHash, usersWithPassword } from '#access/password-attempt'
import type { LoginOutcome, LoginRequest, SignInOrigin } from '#access/requests'
import {
  accountAtVersion,
  beginDpopSession,
  needsSecondFactor,
  type SignInParts,
  tenantOf,
  withOneRetry,
  wrongCredentials,
} from '#access/sign-in'
import { type Factors, factorNames } from '#actors/account/state'
import { directoryAddress } from '#actors/directory/commands'
import { emailUseMax, rowsByLogin } from '#actors/directory/queries'
import type { DirectoryState, TenantRow, UserRow } from '#actors/directory/state'
import { proofProblem } from '#http/authentication'
import { foldEmail } from '#model/user'

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
export function logIn(parts: SignInParts, request: LoginRequest): Promise<LoginOutcome> {
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
