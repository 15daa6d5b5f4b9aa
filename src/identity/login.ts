import { type Factors, factorNames } from '#actors/account/state'
import { rowByName, rowsByLogin } from '#actors/directory/queries'
import type { TenantRow, UserRow } from '#actors/directory/state'
import { proofProblem } from '#iam/proof-problems'
import type { LoginOutcome, LoginRequest, SignInPlace } from '#identity/requests'
import {
  accountAt,
  beginBound,
  needsSecondFactor,
  type Recognised,
  type SignInParts,
  startingOverOnce,
  tenantOf,
  wrongCredentials,
} from '#identity/sign-in'
import { foldEmail, foldName } from '#model/user'

/** Contract 2, Login: each costs a hash. */
const candidatesMax = 8

/** Contract 2, Login. */
const secondFactorMs = 300_000
const enrollmentMs = 900_000

/** `POST /auth/login`. §5.2.7, §5.2.8, contract 2. */
export function logIn(parts: SignInParts, request: LoginRequest): Promise<LoginOutcome> {
  const { jkt } = request
  if (jkt === undefined) throw proofProblem('missing proof')
  return startingOverOnce(() => logInOnce(parts, request, jkt))
}

async function logInOnce(parts: SignInParts, request: LoginRequest, jkt: string): Promise<LoginOutcome> {
  const found = await recognise(parts, request)
  const [match, ...others] = onePerTenant(found, request.email)
  if (!match) throw wrongCredentials()
  if (others.length > 0) return { type: 'conflict', tenants: tenantsOf(parts, [match, ...others]) }
  return complete(parts, match, jkt, request.place)
}

interface Match extends Recognised {
  readonly row: UserRow
}

/**
 * Whose password it is, of all whom the request may mean. The same work for nobody, for a wrong password and for one who
 * may not sign in here: how long it takes must not tell them apart.
 *
 * Where it is one's password and not the other's, that is a wrong guess at the other: else whoever has an account in one
 * tenant could try passwords of its namesake in another for as long as he likes. One at whom was guessed too often is not
 * meant any more for a while, and shuts out nobody else.
 */
async function recognise(parts: SignInParts, request: LoginRequest): Promise<readonly Match[]> {
  const { states, passwords, attempts } = parts
  const { email, password, place } = request
  const { address } = place
  attempts.check(address)
  const rows = candidates(parts, request)
  const open = rows.filter(({ id }) => !attempts.isHeldUp(address, id))
  const [first] = rows
  if (open.length === 0) return await nobody(parts, request, first?.id ?? accountOf(parts, email))
  const matches: Match[] = []
  let wrongCount = 0
  for (const row of open) {
    const { credentials } = states.account(row.tenant, row.id)
    const look = () => {
      attempts.check(address)
      // Others have guessed at him while this one waited.
      if (attempts.isHeldUp(address, row.id)) throw heldUp
    }
    const isWrong = () => {
      wrongCount++
      if (open.length > 1) attempts.failedOn(address, row.id)
      else attempts.failed(address, row.id)
    }
    const isRight = await passwords.verify(credentials?.hash ?? undefined, password, look, isWrong).catch(notHeldUp)
    if (isRight && credentials) matches.push({ row, tenant: row.tenant, user: row.id, version: credentials.version })
  }
  // One password tried on several accounts is one attempt of its address.
  if (matches.length === 0 && wrongCount > 0 && open.length > 1) attempts.failed(address)
  if (matches.length === 0 && wrongCount === 0) attempts.check(address, open[0]?.id)
  return matches
}

const heldUp = new Error('held up')

function notHeldUp(error: unknown): false {
  if (error === heldUp) return false
  throw error
}

/** @throws Problem `too_many_requests` where that name was tried too often */
async function nobody({ passwords, attempts }: SignInParts, request: LoginRequest, account: string): Promise<[]> {
  const { address } = request.place
  const look = () => attempts.check(address, account)
  look()
  await passwords.verify(undefined, request.password, look, () => attempts.failed(address, account))
  return []
}

/** What failed attempts count for where nobody is meant: the same for one who may not sign in as by the Basic scheme. */
function accountOf({ states }: SignInParts, email: string): string {
  return rowByName(states.directory, email)?.id ?? foldName(email)
}

function candidates({ states }: SignInParts, { email, tenantIdentifier, place }: LoginRequest): readonly UserRow[] {
  return rowsByLogin(states.directory, email, place.host)
    .filter(({ tenant }) => tenantIdentifier === undefined || tenant === tenantIdentifier)
    .slice(0, candidatesMax)
}

/** In one tenant one user's name may be another's address, and both have the same password: then the address is meant. */
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

/** The password was right: a session, or what else is needed for one. */
async function complete(parts: SignInParts, match: Match, jkt: string, place: SignInPlace): Promise<LoginOutcome> {
  const account = accountAt(parts, match)
  const tenant = tenantOf(parts, match.row)
  if (!needsSecondFactor(tenant, account)) return { type: 'pair', ...(await beginBound(parts, match, jkt, place)) }
  const isEnrolling = factorNames(account.factors).length === 0
  const lifetimeMs = isEnrolling ? enrollmentMs : secondFactorMs
  const { user, version } = match
  return {
    type: 'second_factor',
    token: parts.tokens.issueSecondFactor({ tenant: match.tenant, user, version, jkt, isEnrolling, lifetimeMs }),
    expiresIn: lifetimeMs / 1000,
    methods: isEnrolling ? ['totp', 'webauthn'] : methodsOf(account.factors),
    enroll: isEnrolling,
  }
}

function methodsOf(factors: Factors): readonly ('totp' | 'webauthn' | 'recovery')[] {
  return [...factorNames(factors), ...(factors.recovery.length > 0 ? (['recovery'] as const) : [])]
}
