import type { FactorRequest, SignInOrigin } from '#access/requests'
import { beginDpopSession, identifyUser, type SignInParts } from '#access/sign-in'
import { factorDelayProblem } from '#actors/account/factors'
import { type AccountCommand, type AccountState, accountAddress } from '#actors/account/state'
import { rowById } from '#actors/directory/queries'
import { directoryAddress, type UserRow } from '#actors/directory/state'
import type { TokenPair } from '#api/sign-in'
import { proofProblem } from '#http/authentication'
import type { Principal } from '#model/caller'
import { idOfCrn } from '#model/crn'
import { Problem } from '#model/problem'

/** The user whose second factor a request concerns, and the token or session that names this user. */
export interface FactorSubject {
  readonly row: UserRow
  /** Thumbprint of the key that signed the proof of the request. */
  readonly jkt: string
  /** Unique name of the session or the 2FA token. Challenges and new secrets are valid for this owner only. */
  readonly owner: string
  /** The session's id if signed in; undefined during sign-in. */
  readonly session: string | undefined
  /** The request has a 2FA token that requires setting up the first factor. */
  readonly isEnrolling: boolean
  /** The version of the credentials for which the 2FA token was issued. */
  readonly version: number | undefined
}

/**
 * Finds the user by the 2FA token in the body. Without a token, finds the user by the session. Both need a proof. The
 * token is valid until it expires or the credentials change.
 *
 * @throws Problem `unauthorized`
 */
export async function factorSubject(
  parts: SignInParts,
  { caller, token, origin }: FactorRequest,
): Promise<FactorSubject> {
  const { jkt } = caller
  if (jkt === undefined) throw missingProof(parts)
  if (token !== undefined) return byToken(parts, token, jkt, origin)
  const user = idOfCrn(caller.user, 'user')
  const row = user === undefined ? undefined : rowById(parts.system.wake(directoryAddress), user)
  if (!row || caller.session?.kind !== 'session') throw new Problem('unauthorized', 'authentication required')
  const { tenant, id } = caller.session
  return { row, jkt, owner: `session/${tenant}/${id}`, session: id, isEnrolling: false, version: undefined }
}

/** The owner of entries in a bounded store: the user, with all sessions and tokens. */
export function ownerOf({ row }: FactorSubject): Principal {
  return { tenant: row.tenant, user: row.id }
}

/** A user who signs in with an existing factor. Refuses a user who has to set up the first factor. */
export async function signInSubject(
  parts: SignInParts,
  request: FactorRequest,
): Promise<FactorSubject & { readonly version: number }> {
  const subject = await factorSubject(parts, request)
  const { version } = subject
  if (version === undefined || subject.isEnrolling) throw badToken()
  return { ...subject, version }
}

/** A user who may turn factors on: signed in, or required to set one up. */
export async function enrollingSubject(parts: SignInParts, request: FactorRequest): Promise<FactorSubject> {
  const subject = await factorSubject(parts, request)
  if (subject.version !== undefined && !subject.isEnrolling) throw badToken()
  return subject
}

/** A user who may turn factors off: signed in. */
export async function signedInSubject(
  parts: SignInParts,
  request: FactorRequest,
): Promise<FactorSubject & { readonly session: string }> {
  const subject = await factorSubject(parts, { ...request, token: undefined })
  const { session } = subject
  if (session === undefined) throw new Problem('unauthorized', 'authentication required')
  return { ...subject, session }
}

/** Starts the session of a sign-in whose second factor was right. */
export function completeSignIn(
  parts: SignInParts,
  { row, jkt }: FactorSubject,
  version: number,
  { origin }: FactorRequest,
): Promise<TokenPair> {
  return beginDpopSession(parts, { tenant: row.tenant, user: row.id, version }, jkt, origin)
}

/**
 * The current account. @throws Problem `unauthorized` if the account is disabled or deleted, or if its credentials
 * changed since the 2FA token was issued
 */
export function accountOf(parts: SignInParts, { row, version }: FactorSubject): AccountState & { version: number } {
  const account = parts.system.peek(accountAddress(row.tenant, row.id))
  const { credentials } = account
  if (!credentials || credentials.isDisabled || (version !== undefined && version !== credentials.version)) {
    throw version === undefined ? new Problem('unauthorized', 'session over') : badToken()
  }
  return { ...account, version: credentials.version }
}

/**
 * Call before a factor is checked. @throws Problem `too_many_requests` after too many wrong factors, and the errors of
 * `accountOf`
 */
export function checkFactorLimit(
  parts: SignInParts,
  subject: FactorSubject,
  { address }: { readonly address: string },
): void {
  parts.attempts.check(address)
  const early = factorDelayProblem(accountOf(parts, subject).factors.wrong, parts.world.now())
  if (early) throw early
}

/** Counts a wrong factor, and returns the refusal once the count is stored. */
export async function wrongFactor(
  { attempts, system }: SignInParts,
  { row }: FactorSubject,
  { address }: { readonly address: string },
): Promise<Problem> {
  attempts.recordFailure(address)
  await system.ask(accountAddress(row.tenant, row.id), { type: 'factor_failed' })
  return new Problem('unauthorized', 'invalid code')
}

/** Runs the turn that uses up a factor. A code that was used before is counted like any wrong code. */
export async function useFactor(
  parts: SignInParts,
  subject: FactorSubject,
  origin: SignInOrigin,
  command: AccountCommand,
): Promise<void> {
  const { tenant, id } = subject.row
  try {
    await parts.system.ask(accountAddress(tenant, id), command)
  } catch (error) {
    if (error instanceof Problem && error.code === 'unauthorized') throw await wrongFactor(parts, subject, origin)
    throw error
  }
}

async function byToken(parts: SignInParts, text: string, jkt: string, origin: SignInOrigin): Promise<FactorSubject> {
  const token = await parts.tokens.readSecondFactor(text, jkt)
  const row = token && rowById(parts.system.wake(directoryAddress), token.user)
  if (row?.state !== 'active' || row.tenant !== token?.tenant) throw badToken()
  identifyUser(origin, { ...row, user: row.id })
  const { id, isEnrolling, version } = token
  const subject = { row, jkt, owner: `token/${id}`, session: undefined, isEnrolling, version }
  accountOf(parts, subject)
  return subject
}

function badToken(): Problem {
  return new Problem('unauthorized', 'invalid or expired token')
}

/** Contract 2: the error contains the nonce that the proof needs. */
function missingProof({ nonce }: SignInParts): Problem {
  const problem = proofProblem('missing proof')
  return new Problem(problem.code, problem.message, { headers: { ...problem.headers, 'DPoP-Nonce': nonce() } })
}
