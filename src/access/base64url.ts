/**
 * Base64url as RFC 7515 §2 defines it: no padding, no characters of other alphabets, one text per value.
 *
 * Node's own decoder skips unknown characters and accepts both alphabets. Where a text is signed, hashed or cached, a
 * second spelling of the same bytes would count as a different value.
 */

const pattern = /^[A-Za-z0-9_-]*$/
/** The allowed last characters, in which the bits after the last byte are zero. */
const lastOfTwo = 'AQgw'
const lastOfThree = 'AEIMQUYcgkosw048'

export function isBase64url(text: string): boolean {
  return pattern.test(text) && isLastGood(text)
}

/** The bytes; undefined if the text is not their canonical spelling. */
export function readBase64url(text: string): Buffer | undefined {
  return isBase64url(text) ? Buffer.from(text, 'base64url') : undefined
}

export function base64urlOf(bytes: Uint8Array | string): string {
  return (typeof bytes === 'string' ? Buffer.from(bytes) : asBuffer(bytes)).toString('base64url')
}

/**
 * Whether a text has three canonical parts. jose also accepts line breaks, and last characters with extra bits. An
 * empty signature passes here, and is refused later. RFC 7515 §7.1.
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

/** The same memory as a Buffer, which can write Base64url. */
function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
