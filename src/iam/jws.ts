import { type KeyObject, sign, verify } from 'node:crypto'
import { base64urlOf, isBase64url, readBase64url } from '#iam/base64url'

/**
 * JSON Web Signatures in their compact form (RFC 7515 §7.1), with ES256 and nothing else (RFC 7518 §3.4).
 *
 * Reading says that a text has the form of one; whether it is *signed* is asked apart, and by whom only the key knows.
 * The `alg` in a header decides nothing here: callers refuse every other one, and the check never looks at it.
 *
 * Synchronous, by `node:crypto`: 75 µs for a signature, where one after the other through the thread pool takes three
 * times as long.
 */

/** Three parts, each Base64url; nothing of them is decoded yet. */
export interface JwsParts {
  readonly header: string
  readonly payload: string
  readonly signature: string
  /** What the signature is over. */
  readonly signed: string
}

export type JsonObject = Readonly<Record<string, unknown>>

export interface Jws {
  readonly header: JsonObject
  readonly payload: JsonObject
  readonly parts: JwsParts
}

/** r and s, 32 bytes each. RFC 7518 §3.4; the DER form that OpenSSL likes better is another text, and refused. */
const signatureBytes = 64

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A text that nobody else could have made without the key. `header` has to name ES256. */
export function signJws(header: JsonObject, payload: JsonObject, key: KeyObject): string {
  const signed = `${base64urlOf(JSON.stringify(header))}.${base64urlOf(JSON.stringify(payload))}`
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${base64urlOf(signature)}`
}

/** Undefined for what has not exactly three parts, strictly spelled. An empty signature is a form too: of no signature. */
export function splitJws(text: string): JwsParts | undefined {
  const first = text.indexOf('.')
  const second = text.indexOf('.', first + 1)
  if (first < 1 || second < first + 2 || text.includes('.', second + 1)) return undefined
  const parts = {
    header: text.slice(0, first),
    payload: text.slice(first + 1, second),
    signature: text.slice(second + 1),
    signed: text.slice(0, second),
  }
  return isBase64url(parts.header) && isBase64url(parts.payload) && isBase64url(parts.signature) ? parts : undefined
}

/** What a part says, if it is a JSON object in UTF-8. */
export function readPart(part: string): JsonObject | undefined {
  const bytes = readBase64url(part)
  if (!bytes) return undefined
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes))
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Form only: nothing of it may be believed before `isSigned`. */
export function readJws(text: string): Jws | undefined {
  const parts = splitJws(text)
  const header = parts && readPart(parts.header)
  const payload = parts && readPart(parts.payload)
  return parts && header && payload ? { header, payload, parts } : undefined
}

/** Whether the owner of this P-256 key signed exactly this. */
export function isSigned({ signed, signature }: JwsParts, key: KeyObject): boolean {
  const bytes = readBase64url(signature)
  if (bytes?.length !== signatureBytes) return false
  return verify('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' }, bytes)
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
