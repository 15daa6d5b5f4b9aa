import type { Accesses } from '#access/accesses'
import type { Attempts } from '#access/attempts'
import type { Authors } from '#access/authors'
import type { FileKeys } from '#access/file-keys'
import type { Lifetimes } from '#access/options'
import type { Candidate, Passwords } from '#access/passwords'
import type { BasicTokens, SignInOrigin } from '#access/requests'
import { type RefreshedSession, refreshTokenText, type Tokens } from '#access/tokens'
import { versionConflict } from '#actors/account/credentials'
import { type AccountState, accountAddress, factorNames } from '#actors/account/state'
import { isReachable, rowById, tenantRow } from '#actors/directory/queries'
import { directoryAddress, type TenantRow, type UserRow } from '#actors/directory/state'
import { type StoredSession, sessionAddress } from '#actors/session/state'
import type { TokenPair } from '#api/sign-in'
import { formatCrn } from '#model/crn'
import type { Entry } from '#model/entry'
import { randomId } from '#model/identifier'
import { changeCount, getOrInsert } from '#model/map-values'
import { Problem, type ProblemCode } from '#model/problem'
import { foldName } from '#model/user'
import type { System } from '#runtime/system'
import type { World } from '#runtime/world'

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

/**
 * A password given with a name or mail address. Text, status and time of the answer must not reveal whether such an
 * account exists. So 429 depends only on the client address and the typed text, and is decided before any lookup. An
 * account with too many failures under another name is treated as unknown. An attempt costs a hash even if there is no
 * account.
 */
export interface PasswordAttempt {
  /** The name or mail address, as typed. */
  readonly text: string
  readonly password: string
  readonly origin: SignInOrigin
  /** The users that the text may mean. Called when the hash begins. */
  readonly rows: () => readonly UserRow[]
  /** The minimum number of hashes to compute. */
  readonly hashesMin: () => number
}

/** An account whose password matched. */
export interface Match extends RecognizedUser {
  readonly row: UserRow
  readonly hash: string
}

interface MatchCandidate extends Candidate {
  readonly match?: Match
}

const noAccount: MatchCandidate = { hash: undefined }

/**
 * Returns all candidates with this password. A failure counts for the client address, the typed text, and each
 * candidate. If the password is right for some candidates, it still counts as a failure for the others. Otherwise the
 * owner of an account in one tenant could try passwords of the same name in another tenant without limit.
 *
 * @throws Problem `too_many_requests`, `overloaded`
 */
export function usersWithPassword(
  { system, passwords, attempts }: SignInParts,
  attempt: PasswordAttempt,
): Promise<readonly Match[]> {
  const { text, password, origin } = attempt
  const { address } = origin
  const typedAccount = attemptKeyOf(text)
  const candidateOf = (row: UserRow): MatchCandidate => {
    if (attempts.isLimited(address, accountOfId(row.id))) return noAccount
    const { credentials } = system.peek(accountAddress(row.tenant, row.id))
    if (!credentials || credentials.hash === null) return noAccount
    const { hash, version } = credentials
    return { hash, match: { row, tenant: row.tenant, user: row.id, version, hash } }
  }
  const candidates = () => {
    attempts.check(address, typedAccount)
    const rows = attempt.rows()
    // If the text names accounts in several tenants, a wrong password does not show which account is meant.
    const [row] = rows
    if (row && rows.every(({ tenant }) => tenant === row.tenant)) identifyUser(origin, { ...row, user: row.id })
    const rowCandidates = rows.map(candidateOf)
    const missing = Math.max(attempt.hashesMin() - rowCandidates.length, 0)
    return [...rowCandidates, ...Array.from({ length: missing }, () => noAccount)]
  }
  attempts.check(address, typedAccount)
  return passwords.verify(candidates, password, origin, (right, wrong) => {
    const wrongAccounts = matchesOf(wrong).map(({ user }) => accountOfId(user))
    if (right.length > 0) attempts.recordAccountFailure(address, ...wrongAccounts)
    else attempts.recordFailure(address, typedAccount, ...wrongAccounts)
    const matches = matchesOf(right)
    if (matches[0]) identifyUser(origin, matches[0])
    return matches
  })
}

function matchesOf(candidates: readonly MatchCandidate[]): readonly Match[] {
  return candidates.flatMap(({ match }) => match ?? [])
}

/** The key under which attempts with a typed text are counted, equal for all spellings of a name or mail address. */
export function attemptKeyOf(text: string): string {
  return `typed ${foldName(text)}`
}

/** The key under which attempts on an existing account are counted. */
export function accountOfId(id: string): string {
  return `id ${id}`
}

/** All keys under which attempts on a known user are counted. */
function accountsOf({ id, name, email }: UserRow): readonly string[] {
  return [...new Set([accountOfId(id), attemptKeyOf(name), ...(email === null ? [] : [attemptKeyOf(email)])])]
}

/**
 * Hashes a password again if its stored hash has other parameters than new hashes: the time of its check would reveal
 * that the account exists. Call it after the password was verified. If the queue is full, the next sign-in does this.
 */
export async function renewHash(
  { system, passwords }: SignInParts,
  { tenant, user, version, hash }: Omit<Match, 'row'>,
  password: string,
  origin: SignInOrigin,
): Promise<void> {
  if (passwords.isCurrent(hash)) return
  try {
    const passwordHash = await passwords.hash(password, origin)
    await system.ask(accountAddress(tenant, user), { type: 'renew_hash', version, passwordHash })
  } catch (error) {
    if (!(error instanceof Problem && error.code === 'overloaded')) throw error
  }
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

export type SignInWay = 'login' | 'basic' | 'refresh' | 'basic_refresh' | 'sign_up' | 'totp' | 'recovery' | 'webauthn'

/**
 * The result: `ok`, `second_factor` if that step follows, or the code of the refusal. `conflict` also counts sign-ins
 * after which the user has to choose a tenant.
 */
export type SignInOutcome = 'ok' | 'second_factor' | ProblemCode

/** Sign-ins by way and outcome, never by user. */
export class SignInCounts {
  readonly #counts = new Map<SignInWay, Map<SignInOutcome, number>>()

  countOutcomes<Request, Answer>(
    way: SignInWay,
    flow: (request: Request) => Promise<Answer>,
    outcomeOf: (answer: Answer) => SignInOutcome = () => 'ok',
  ): (request: Request) => Promise<Answer> {
    return async (request) => {
      try {
        const answer = await flow(request)
        this.#add(way, outcomeOf(answer))
        return answer
      } catch (error) {
        this.#add(way, error instanceof Problem ? error.code : 'bug')
        throw error
      }
    }
  }

  /** Only pairs that occurred. */
  *[Symbol.iterator](): Iterator<{ readonly way: SignInWay; readonly outcome: SignInOutcome; readonly count: number }> {
    for (const [way, outcomes] of this.#counts) {
      for (const [outcome, count] of outcomes) yield { way, outcome, count }
    }
  }

  #add(way: SignInWay, outcome: SignInOutcome): void {
    changeCount(
      getOrInsert(this.#counts, way, () => new Map()),
      outcome,
      1,
    )
  }
}
