import { createHmac, timingSafeEqual } from 'node:crypto'

/** How far the clock of who signed may be from ours. */
const skewSecondsMax = 300

export interface SignedCall {
  /** As it came, without query. */
  readonly path: string
  readonly body: Uint8Array
}

/**
 * Whether a call of the update hook was signed by who knows the secret: `t=<Unix seconds>,sha256=<hex>`, the HMAC-SHA-256 of
 * `t.path.body`, byte for byte. The fields come in any order, each once; fields that are not known mean nothing. Contract 6.
 *
 * @param header copies of it joined by a comma, so that of two one field comes twice
 * @param now Unix ms
 */
export function isHookSigned(header: string, { path, body }: SignedCall, secret: string, now: number): boolean {
  const fields = fieldsOf(header)
  const time = fields?.get('t') ?? ''
  const said = fields?.get('sha256') ?? ''
  if (!/^\d{1,12}$/.test(time) || !/^[0-9a-f]{64}$/i.test(said)) return false
  const made = createHmac('sha256', secret).update(`${time}.${path}.`).update(body).digest()
  // Both are looked at, so that how long it takes says nothing.
  const isMade = timingSafeEqual(made, Buffer.from(said, 'hex'))
  return isMade && Math.abs(now - Number(time) * 1000) <= skewSecondsMax * 1000
}

/** Undefined when one of them is none, or comes twice. */
function fieldsOf(header: string): ReadonlyMap<string, string> | undefined {
  const fields = new Map<string, string>()
  for (const text of header.split(',')) {
    const [, name, value] = /^\s*([a-z0-9]+)=(\S*)\s*$/.exec(text) ?? []
    if (name === undefined || value === undefined || fields.has(name)) return undefined
    fields.set(name, value)
  }
  return fields
}
