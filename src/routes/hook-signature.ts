import { createHmac, timingSafeEqual } from 'node:crypto'

/** Maximum difference between the signer's clock and ours. */
const skewSecondsMax = 300

export interface SignedCall {
  /** As received, without the query. */
  readonly path: string
  readonly body: Uint8Array
}

/**
 * Whether a call of the update hook has a valid signature: `t=<Unix seconds>,sha256=<hex>`, the HMAC-SHA-256 of
 * `t.path.body`, byte for byte. The fields may have any order, each occurs once; unknown fields are ignored. Contract
 * 6.
 *
 * @param header repeated headers joined by a comma, so that two of them repeat a field
 * @param now Unix ms
 */
export function isHookSigned(header: string, { path, body }: SignedCall, secret: string, now: number): boolean {
  const fields = fieldsOf(header)
  const time = fields?.get('t') ?? ''
  const signature = fields?.get('sha256') ?? ''
  if (!/^\d{1,12}$/.test(time) || !/^[0-9a-f]{64}$/i.test(signature)) return false
  const made = createHmac('sha256', secret).update(`${time}.${path}.`).update(body).digest()
  // Both conditions are evaluated, so that the duration reveals nothing.
  const isMade = timingSafeEqual(made, Buffer.from(signature, 'hex'))
  return isMade && Math.abs(now - Number(time) * 1000) <= skewSecondsMax * 1000
}

/** Undefined if a field is invalid or repeated. */
function fieldsOf(header: string): ReadonlyMap<string, string> | undefined {
  const fields = new Map<string, string>()
  for (const text of header.split(',')) {
    const [, name, value] = /^\s*([a-z0-9]+)=(\S*)\s*$/.exec(text) ?? []
    if (name === undefined || value === undefined || fields.has(name)) return undefined
    fields.set(name, value)
  }
  return fields
}
