import { isReachable, rowByName } from '#actors/directory/queries'
import { readBasic } from '#iam/basic-header'
import type { BasicRequest, TokenAnswer } from '#identity/requests'
import {
  accountAt,
  beginUnbound,
  refuseBasic,
  type SignInParts,
  startingOverOnce,
  tenantOf,
  wrongCredentials,
} from '#identity/sign-in'
import { Problem } from '#model/problem'
import { foldName } from '#model/user'

/** `GET /iam/token`. §5.1.2, contract 2, Basic scheme. */
export function basicToken(parts: SignInParts, request: BasicRequest): Promise<TokenAnswer> {
  return startingOverOnce(() => basicTokenOnce(parts, request))
}

async function basicTokenOnce(parts: SignInParts, request: BasicRequest): Promise<TokenAnswer> {
  const { states, passwords, attempts } = parts
  const { authorization, isOffline, place } = request
  attempts.check(place.address)
  if (authorization === '') throw new Problem('unauthorized', 'authentication required')
  const shown = readBasic(authorization)
  if (!shown) {
    attempts.failed(place.address)
    throw wrongCredentials()
  }
  const named = rowByName(states.directory, shown.name)
  const account = named?.id ?? foldName(shown.name)
  const look = () => attempts.check(place.address, account)
  look()
  const isMeant = named?.state === 'active' && isReachable(states.directory, named.tenant, place.host)
  const row = isMeant ? named : undefined
  const credentials = row && states.account(row.tenant, row.id).credentials
  // The same work for nobody, for a wrong password and for one who may not sign in here.
  const wrong = () => attempts.failed(place.address, account)
  const isRight = await passwords.verify(credentials?.hash ?? undefined, shown.password, look, wrong)
  if (!isRight || !row || !credentials) throw wrongCredentials()
  const who = { tenant: row.tenant, user: row.id, version: credentials.version }
  refuseBasic(tenantOf(parts, row), accountAt(parts, who))
  return beginUnbound(parts, who, isOffline, place)
}
