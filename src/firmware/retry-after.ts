/** A server that asks to be left alone for longer is asked again all the same. */
const retryAfterMsMax = 3_600_000

/**
 * How long a server wants to be left alone, in ms, at most an hour: so many seconds, or until a date. Undefined for
 * whatever means neither. RFC 9110 §10.2.3.
 */
export function retryAfterMs(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  const text = value.trim()
  const wait = /^[0-9]+$/.test(text) ? Number(text) * 1_000 : /[a-z]/i.test(text) ? Date.parse(text) - now : Number.NaN
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), retryAfterMsMax)
}
