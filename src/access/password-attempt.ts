import type { Candidate } from '#access/passwords'
import type { SignInOrigin } from '#access/requests'
import { identifyUser, type RecognizedUser, type SignInParts } from '#access/sign-in'
import { accountAddress } from '#actors/account/state'
import type { UserRow } from '#actors/directory/state'
import { Problem } from '#model/problem'
import { foldName } from '#model/user'

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
export function accountsOf({ id, name, email }: UserRow): readonly string[] {
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
