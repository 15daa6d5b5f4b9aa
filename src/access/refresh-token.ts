import { createHmac, timingSafeEqual } from 'node:crypto'
import { base64urlOf, readBase64url } from '#access/base64url'
import { isServerMadeId, isTenantIdentifier } from '#model/identifier'

/**
 * Refresh tokens of the DPoP scheme: `<tenant>.<session>.<number>.<mac>`. Only the number is stored: token n of a
 * session is the same text whenever it is made, so that a lost answer can be repeated. Contract 2, Refresh.
 */
export interface RefreshToken {
  readonly tenant: string
  readonly session: string
  /** 1 at login, one more with every rotation. */
  readonly number: number
  readonly mac: Uint8Array
}

/** The MAC also covers the key that the session is bound to. */
export interface RefreshSubject {
  readonly tenant: string
  readonly session: string
  readonly number: number
  readonly jkt: string
}

const macBytes = 32
/** Tenant 63, session 16, number 10, mac 43 and the dots. */
const textCharactersMax = 135
/** Enough for a session that is renewed every second for a year. */
const numberPattern = /^[1-9][0-9]{0,9}$/

export function refreshTokenText(key: Uint8Array, subject: RefreshSubject): string {
  const { tenant, session, number } = subject
  return `${tenant}.${session}.${number}.${base64urlOf(macOf(key, subject))}`
}

/** Checks the form only; `isOurs` checks the MAC. Inverse of `refreshTokenText`. */
export function readRefreshToken(text: string): RefreshToken | undefined {
  if (text.length > textCharactersMax) return undefined
  const [tenant = '', session = '', number = '', macText = '', ...more] = text.split('.')
  const mac = readBase64url(macText)
  if (more.length > 0 || mac?.length !== macBytes) return undefined
  if (!isTenantIdentifier(tenant) || !isServerMadeId(session) || !numberPattern.test(number)) return undefined
  return { tenant, session, number: Number(number), mac }
}

/** In constant time. `jkt`: of the session, not of the caller's proof. */
export function isOurs(key: Uint8Array, { mac, ...token }: RefreshToken, jkt: string): boolean {
  return timingSafeEqual(mac, macOf(key, { ...token, jkt }))
}

/** Only the last of the four can contain a dot, so no two subjects share a text. */
function macOf(key: Uint8Array, { tenant, session, number, jkt }: RefreshSubject): Buffer {
  return createHmac('sha256', key).update(`${tenant}.${session}.${number}.${jkt}`).digest()
}
