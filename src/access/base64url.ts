/**
 * Base64url as RFC 7515 §2 defines it: no padding, no characters of other alphabets, one text per value.
 *
 * Node's own decoder skips unknown characters and accepts both alphabets. Where a text is signed, hashed or cached, a
 * second spelling of the same bytes would count as a different value.
 */

export function isBase64url(text: string): boolean {
  return readBase64url(text) !== undefined
}

/** The bytes; undefined if the text is not their canonical spelling. */
export function readBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
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

/** The same memory as a Buffer, which can write Base64url. */
function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
