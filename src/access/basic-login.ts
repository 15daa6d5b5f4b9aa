import { renewHash, usersWithPassword } from '#access/password-attempt'
import type { BasicRequest, BasicTokens } from '#access/requests'
import {
  accountAtVersion,
  beginBasicSession,
  refuseBasic,
  type SignInParts,
  tenantOf,
  withOneRetry,
  wrongCredentials,
} from '#access/sign-in'
import { isReachable, rowByName } from '#actors/directory/queries'
import { directoryAddress } from '#actors/directory/state'
import { Problem } from '#model/problem'

/** `GET /iam/token`. §5.1.2, contract 2, Basic scheme. */
export function basicToken(parts: SignInParts, request: BasicRequest): Promise<BasicTokens> {
  return withOneRetry(() => basicTokenOnce(parts, request))
}

async function basicTokenOnce(parts: SignInParts, request: BasicRequest): Promise<BasicTokens> {
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

/** The content of `Authorization: Basic`. RFC 7617. */
export interface BasicCredentials {
  readonly name: string
  readonly password: string
}

/** More than the longest name and password need, at four bytes per character. */
const headerCharactersMax = 8_192

const pattern = /^basic +([A-Za-z0-9+/]+={0,2})$/i
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Name and password, split at the first colon: a password may contain a colon, a name may not. Undefined for another
 * scheme, for Base64 that is not canonical, for bytes that are not UTF-8, for a text without a colon, and for a header
 * that is too long.
 */
export function readBasic(header: string): BasicCredentials | undefined {
  if (header.length > headerCharactersMax) return undefined
  const [, encoded] = pattern.exec(header) ?? []
  const text = encoded === undefined ? undefined : decode(encoded)
  const colon = text?.indexOf(':') ?? -1
  return text === undefined || colon < 0 ? undefined : { name: text.slice(0, colon), password: text.slice(colon + 1) }
}

function decode(encoded: string): string | undefined {
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64') !== encoded) return undefined
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}
