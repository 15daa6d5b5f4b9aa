import type { RequestHeaders } from '#http/request-headers'

/** How long a request's body is said to be: a number of bytes, or chunks until the last one. */
export type BodyLength = number | 'chunked'

/**
 * Where a request ends, or what is wrong with saying so. A proxy in front that reads ambiguous framing differently
 * than this server lets one client write into another's connection (request smuggling, RFC 9112 §11.2), so anything that
 * could be read in two ways is refused and the connection closed. The parser underneath lets several of these pass.
 */
export function readFraming(headers: RequestHeaders): { readonly bodyLength: BodyLength } | { readonly fault: string } {
  if (headers.count('host') !== 1 || headers.get('host') === '') return { fault: 'one Host header is needed' }
  const lengths = headers.count('content-length')
  const encodings = headers.count('transfer-encoding')
  if (lengths === 0 && encodings === 0) return noBody
  if (lengths > 0 && encodings > 0) return { fault: 'both Content-Length and Transfer-Encoding' }
  if (encodings > 0) {
    if (headers.get('transfer-encoding') === 'chunked') return chunkedBody
    return { fault: 'Transfer-Encoding is not chunked' }
  }
  const length = headers.get('content-length')
  if (lengths > 1 || !/^\d{1,15}$/.test(length)) return { fault: 'Content-Length is not one number' }
  return { bodyLength: Number(length) }
}

const noBody = { bodyLength: 0 } as const
const chunkedBody = { bodyLength: 'chunked' } as const
