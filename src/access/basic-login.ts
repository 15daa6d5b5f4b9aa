import { readBasic } from '#access/basic-header'
import { renewHash } from '#access/hash-renewal'
import { recognise } from '#access/password-attempt'
import type { BasicRequest, TokenAnswer } from '#access/requests'
import {
  accountAt,
  beginUnbound,
  refuseBasic,
  type SignInParts,
  tenantOf,
  withOneRetry,
  wrongCredentials,
} from '#access/sign-in'
import { directoryAddress } from '#actors/directory/address'
import { isReachable, rowByName } from '#actors/directory/queries'
import { Problem } from '#model/problem'

/** `GET /iam/token`. §5.1.2, contract 2, Basic scheme. */
export function basicToken(parts: SignInParts, request: BasicRequest): Promise<TokenAnswer> {
  return withOneRetry(() => basicTokenOnce(parts, request))
}

async function basicTokenOnce(parts: SignInParts, request: BasicRequest): Promise<TokenAnswer> {
  const { system, attempts } = parts
  const { authorization, isOffline, place } = request
  attempts.check(place.address)
  if (authorization === '') throw new Problem('unauthorized', 'authentication required')
  const credentials = readBasic(authorization)
  if (!credentials) {
    attempts.failed(place.address)
    throw wrongCredentials()
  }
  const { name, password } = credentials
  const rows = () => {
    const row = rowByName(system.wake(directoryAddress), name)
    return row?.state === 'active' && isReachable(system.wake(directoryAddress), row.tenant, place.host) ? [row] : []
  }
  const [match] = await recognise(parts, { text: name, password, place, rows, hashesMin: () => 1 })
  if (!match) throw wrongCredentials()
  await renewHash(parts, match, password, place)
  refuseBasic(tenantOf(parts, match.row), accountAt(parts, match))
  return beginUnbound(parts, match, isOffline, place)
}
