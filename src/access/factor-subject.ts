import type { FactorRequest } from '#access/requests'
import type { SignInParts } from '#access/sign-in'
import { accountAddress } from '#actors/account/address'
import type { AccountState } from '#actors/account/state'
import { tooEarly } from '#actors/account/wrong-factors'
import { directoryAddress } from '#actors/directory/address'
import { rowById } from '#actors/directory/queries'
import type { UserRow } from '#actors/directory/state'
import { proofProblem } from '#http/credential-problems'
import type { Principal } from '#model/caller'
import { idOfCrn } from '#model/crn'
import { Problem } from '#model/problem'

/** Whose second factor it is about, and by what he may speak of it. */
export interface FactorSubject {
  readonly row: UserRow
  /** Thumbprint of the key that was shown. */
  readonly jkt: string
  /** Names the session or the 2FA token, like no other: challenges and secrets are made for it alone. */
  readonly owner: string
  /** Of whom is signed in; undefined while he signs in. */
  readonly session: string | undefined
  /** By the 2FA token: there is no factor yet, and one has to be set up. */
  readonly isEnrolling: boolean
  /** Of the credentials by which the 2FA token was given. */
  readonly version: number | undefined
}

/**
 * By the 2FA token in the body, or else by the session: a proof always. The token is good for as long as the credentials
 * are what they were when it was given.
 *
 * @throws Problem `unauthorized`
 */
export async function factorSubject(parts: SignInParts, { caller, token }: FactorRequest): Promise<FactorSubject> {
  const { jkt } = caller
  if (jkt === undefined) throw missingProof(parts)
  if (token !== undefined) return byToken(parts, token, jkt)
  const user = idOfCrn(caller.user, 'user')
  const row = user === undefined ? undefined : rowById(parts.system.wake(directoryAddress), user)
  if (!row || caller.session?.kind !== 'session') throw new Problem('unauthorized', 'authentication required')
  const { tenant, id } = caller.session
  return { row, jkt, owner: `session/${tenant}/${id}`, session: id, isEnrolling: false, version: undefined }
}

/** Whose share of a bounded store it takes, whichever session or token it is. */
export function ownerOf({ row }: FactorSubject): Principal {
  return { tenant: row.tenant, user: row.id }
}

/** What is asked of one who signs in, with factors that are there: not of one who has to set one up first. */
export async function signingIn(
  parts: SignInParts,
  request: FactorRequest,
): Promise<FactorSubject & { readonly version: number }> {
  const subject = await factorSubject(parts, request)
  const { version } = subject
  if (version === undefined || subject.isEnrolling) throw badToken()
  return { ...subject, version }
}

/** Who may turn factors on: signed in, or told to set one up. */
export async function enrolling(parts: SignInParts, request: FactorRequest): Promise<FactorSubject> {
  const subject = await factorSubject(parts, request)
  if (subject.version !== undefined && !subject.isEnrolling) throw badToken()
  return subject
}

/** Who may turn them off: signed in. */
export async function signedIn(
  parts: SignInParts,
  request: FactorRequest,
): Promise<FactorSubject & { readonly session: string }> {
  const subject = await factorSubject(parts, { ...request, token: undefined })
  const { session } = subject
  if (session === undefined) throw new Problem('unauthorized', 'authentication required')
  return { ...subject, session }
}

/** As it is now. @throws Problem `unauthorized` when a 2FA token was given for credentials that are no more. */
export function accountOf(parts: SignInParts, { row, version }: FactorSubject): AccountState & { version: number } {
  const account = parts.system.peek(accountAddress(row.tenant, row.id))
  const { credentials } = account
  if (!credentials || credentials.isDisabled || (version !== undefined && version !== credentials.version)) {
    throw version === undefined ? new Problem('unauthorized', 'session over') : badToken()
  }
  return { ...account, version: credentials.version }
}

/** Whether a factor may be looked at at all: wrong ones make wait. @throws Problem `too_many_requests` */
export function mayTry(parts: SignInParts, subject: FactorSubject, { address }: { readonly address: string }): void {
  parts.attempts.check(address)
  const early = tooEarly(accountOf(parts, subject).factors.wrong, parts.world.now())
  if (early) throw early
}

/** Counted before anybody hears of it. */
export async function wrongFactor(
  { attempts, system }: SignInParts,
  { row }: FactorSubject,
  { address }: { readonly address: string },
): Promise<Problem> {
  attempts.failed(address)
  await system.ask(accountAddress(row.tenant, row.id), { type: 'factor_failed' })
  return new Problem('unauthorized', 'invalid code')
}

async function byToken(parts: SignInParts, text: string, jkt: string): Promise<FactorSubject> {
  const token = await parts.tokens.readSecondFactor(text, jkt)
  const row = token && rowById(parts.system.wake(directoryAddress), token.user)
  if (row?.state !== 'active' || row.tenant !== token?.tenant) throw badToken()
  const { id, isEnrolling, version } = token
  const subject = { row, jkt, owner: `token/${id}`, session: undefined, isEnrolling, version }
  accountOf(parts, subject)
  return subject
}

function badToken(): Problem {
  return new Problem('unauthorized', 'invalid or expired token')
}

/** Contract 2: told with the nonce that the proof has to hold. */
function missingProof({ nonce }: SignInParts): Problem {
  const problem = proofProblem('missing proof')
  return new Problem(problem.code, problem.message, { headers: { ...problem.headers, 'DPoP-Nonce': nonce() } })
}
