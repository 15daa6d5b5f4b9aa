import type { Accesses } from '#access/accesses'
import type { Attempts } from '#access/attempts'
import type { Authors } from '#access/authors'
import type { FileKeys } from '#access/file-keys'
import type { Lifetimes } from '#access/options'
import type { Passwords } from '#access/passwords'
import type { BasicTokens, SignInOrigin, TokenPair } from '#access/requests'
import { type RefreshedSession, refreshTokenText, type Tokens } from '#access/tokens'
import { versionConflict } from '#actors/account/credentials'
import { type AccountState, accountAddress, factorNames } from '#actors/account/state'
import { isReachable, rowById, tenantRow } from '#actors/directory/queries'
import { directoryAddress, type TenantRow, type UserRow } from '#actors/directory/state'
import { type StoredSession, sessionAddress } from '#actors/session/state'
import { formatCrn } from '#model/crn'
import type { Entry } from '#model/entry'
import { randomId } from '#model/identifier'
import { Problem } from '#model/problem'
import type { System } from '#runtime/system'
import type { World } from '#runtime/world'

/** The shared parts of all sign-in flows. */
export interface SignInParts {
  readonly world: World
  readonly system: System<Entry>
  readonly accesses: Accesses
  readonly authors: Pick<Authors, 'mayGive' | 'scopeOf'>
  readonly tokens: Tokens
  readonly passwords: Passwords
  readonly attempts: Attempts
  readonly fileKeys: () => FileKeys
  readonly lifetimes: Lifetimes
  /** The `DPoP-Nonce` for a client that sent no proof although one is needed. */
  readonly nonce: () => string
}

/** A user whose password was right. */
export interface RecognizedUser {
  readonly tenant: string
  readonly user: string
  /** The version of the credentials that were checked. */
  readonly version: number
}

/** Names the user of a sign-in for the audit, even if the sign-in fails later. */
export function identifyUser({ identified }: SignInOrigin, { tenant, user }: Omit<RecognizedUser, 'version'>): void {
  identified?.({ tenant, user: formatCrn({ type: 'user', id: user }) })
}

/** A longer `User-Agent` is cut: the rest adds no information. */
const agentCharactersMax = 256

/** Starts a session of the DPoP scheme, and returns its first pair of tokens. */
export async function beginDpopSession(
  parts: SignInParts,
  user: RecognizedUser,
  jkt: string,
  origin: SignInOrigin,
): Promise<TokenPair> {
  const endsAt = parts.world.now() + parts.lifetimes.refreshMs
  const session = await beginSession(parts, user, { scheme: 'dpop', jkt, hasRefresh: true, endsAt }, origin)
  return issueTokenPair(parts, { ...user, session, number: 1, endsAt, jkt })
}

/** Starts a session of the Basic scheme, which ends with its token unless it can be renewed. */
export async function beginBasicSession(
  parts: SignInParts,
  user: RecognizedUser,
  isOffline: boolean,
  origin: SignInOrigin,
): Promise<BasicTokens> {
  const { tokenMs, refreshMs } = parts.lifetimes
  const endsAt = parts.world.now() + (isOffline ? refreshMs : tokenMs)
  const session = await beginSession(parts, user, { scheme: 'basic', hasRefresh: isOffline, endsAt }, origin)
  return issueBasicTokens(parts, { ...user, session, number: isOffline ? 1 : 0, endsAt })
}

async function beginSession(
  { world, system }: SignInParts,
  { tenant, user, version }: RecognizedUser,
  of: { scheme: 'basic' | 'dpop'; jkt?: string; hasRefresh: boolean; endsAt: number },
  origin: SignInOrigin,
): Promise<string> {
  const id = randomId((byteCount) => world.random(byteCount))
  const session = { ...of, id, address: origin.address, agent: origin.agent.slice(0, agentCharactersMax) }
  await system.askAtOnce(() => {
    // Only the directory knows whether the tenant is being deleted; the account does not.
    if (rowById(system.wake(directoryAddress), user)?.state !== 'active') throw wrongCredentials()
    return { to: accountAddress(tenant, user), command: { type: 'begin_session', version, session } }
  })
  return id
}

/** Makes a new access token, and the refresh token with this number, whose text is the same at each call. */
export async function issueTokenPair(
  parts: SignInParts,
  of: RefreshedSession & { readonly jkt: string },
): Promise<TokenPair> {
  const accessToken = await issueAccessToken(parts, of, parts.lifetimes.accessMs)
  return { accessToken, refreshToken: refreshTokenText(parts.fileKeys().refresh, of) }
}

export async function issueBasicTokens(parts: SignInParts, of: RefreshedSession): Promise<BasicTokens> {
  const token = await issueAccessToken(parts, of, parts.lifetimes.tokenMs)
  return of.number === 0 ? { token } : { token, refreshToken: await parts.tokens.issueBasicRefresh(of) }
}

function issueAccessToken(
  { world, accesses, tokens }: SignInParts,
  { tenant, user, session, number, endsAt, jkt }: RefreshedSession & { readonly jkt?: string },
  lifetimeMs: number,
): Promise<string> {
  const roles = accesses.user(user)?.roles ?? []
  const { grants } = accesses.of(tenant, roles).scope
  // A token never outlives its session.
  const lifeMs = Math.min(lifetimeMs, endsAt - world.now())
  const of = { tenant, user, session, number, roles, grants, lifetimeMs: lifeMs }
  return tokens.issueAccess(jkt === undefined ? of : { ...of, jkt })
}

/** The account, if its credentials still have this version. Otherwise throws, and `withOneRetry` repeats the flow. */
export function accountAtVersion({ system }: SignInParts, { tenant, user, version }: RecognizedUser): AccountState {
  const account = system.peek(accountAddress(tenant, user))
  if (account.credentials?.version !== version) throw versionConflict()
  return account
}

/** Whether a password alone is not enough: the tenant requires a second factor, or the user has set one up. */
export function needsSecondFactor({ twoFactor }: TenantRow, account: AccountState): boolean {
  return twoFactor === 'required' || factorNames(account.factors).length > 0
}

/** The tenant of a user whose row was just found. @throws Problem `unauthorized` if the tenant is gone */
export function tenantOf({ system }: SignInParts, { tenant }: Pick<UserRow, 'tenant'>): TenantRow {
  const row = tenantRow(system.wake(directoryAddress), tenant)
  if (!row) throw wrongCredentials()
  return row
}

/**
 * The session of a refresh token, if it is not over and its user may sign in under `host`. Host undefined: any host.
 */
export function activeSession(
  { world, system, accesses }: SignInParts,
  { tenant, session }: { readonly tenant: string; readonly session: string },
  scheme: StoredSession['scheme'],
  host: string | undefined,
): StoredSession | undefined {
  if (!accesses.hasTenant(tenant)) return undefined
  const stored = system.peek(sessionAddress(tenant, session)).session
  if (!stored || stored.scheme !== scheme || stored.number === 0 || world.now() >= stored.endsAt) return undefined
  const isUsers = accesses.user(stored.user)?.tenant === tenant
  return isUsers && (host === undefined || isReachable(system.wake(directoryAddress), tenant, host))
    ? stored
    : undefined
}

/** The same error for every cause, so that it does not help an attacker. */
export function wrongCredentials(): Problem {
  return new Problem('unauthorized', 'invalid credentials')
}

export function wrongRefreshToken(): Problem {
  return new Problem('unauthorized', 'invalid refresh token')
}

/**
 * Rejects the Basic scheme if it is disabled or a second factor is needed. Call it only after the user was recognised,
 * because the error names the reason. Contract 2, Basic scheme.
 */
export function refuseBasic(tenant: TenantRow, account: AccountState): void {
  if (!tenant.basic) throw new Problem('unauthorized', 'use the DPoP scheme')
  if (needsSecondFactor(tenant, account)) throw new Problem('unauthorized', '2fa_required')
}

/**
 * Runs the flow once more if the credentials changed while a password was hashed. If they changed again, many requests
 * change them at the same time, and the answer is `overloaded`.
 */
export async function withOneRetry<T>(flow: () => Promise<T>): Promise<T> {
  try {
    return await flow()
  } catch (error) {
    if (!isVersionConflict(error)) throw error
  }
  try {
    return await flow()
  } catch (error) {
    throw isVersionConflict(error) ? new Problem('overloaded') : error
  }
}

function isVersionConflict(error: unknown): boolean {
  return error instanceof Problem && error.code === 'conflict' && error.message === versionConflict().message
}
