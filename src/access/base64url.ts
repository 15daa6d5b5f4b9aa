/**
 * Base64url as RFC 7515 §2 means it: without padding, without characters of other alphabets, and one text per value.
 *
 * Node's own decoder skips what it does not know and takes both alphabets. Where a text is signed, hashed or remembered,
 * each further spelling of the same bytes is one more way to be two things at once.
 */

const pattern = /^[A-Za-z0-9_-]*$/
/** What may stand last, so that the bits beyond the last byte are zero. */
const lastOfTwo = 'AQgw'
const lastOfThree = 'AEIMQUYcgkosw048'

export function isBase64url(text: string): boolean {
  return pattern.test(text) && isLastGood(text)
}

/** The bytes, or undefined when the text is not their one spelling. */
export function readBase64url(text: string): Buffer | undefined {
  return isBase64url(text) ? Buffer.from(text, 'base64url') : undefined
}

export function base64urlOf(bytes: Uint8Array | string): string {
  return (typeof bytes === 'string' ? Buffer.from(bytes) : asBuffer(bytes)).toString('base64url')
}

/**
 * Three parts, each in its only spelling: jose also takes line breaks, and last characters with bits beyond the last byte.
 * An empty signature has the right form, and is refused later. RFC 7515 §7.1.
 */
export function isCompactJws(text: string): boolean {
  const parts = text.split('.')
  return parts.length === 3 && parts[0] !== '' && parts[1] !== '' && parts.every(isBase64url)
}

function isLastGood(text: string): boolean {
  const rest = text.length % 4
  if (rest === 0) return true
  return rest !== 1 && (rest === 2 ? lastOfTwo : lastOfThree).includes(text.charAt(text.length - 1))
}

/** The same memory, seen by the class that can write Base64url. */
function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
