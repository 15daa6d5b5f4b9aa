import type { RequestHeaders } from '#http/request-headers'

/** The declared length of a body: a number of bytes, or chunked. */
export type BodyLength = number | 'chunked'

/**
 * Finds the end of a request, or the fault in its framing. If a proxy reads ambiguous framing differently from this
 * server, one client can write into the connection of another (request smuggling, RFC 9112 §11.2). So ambiguous
 * requests are refused and the connection is closed. The parser underneath accepts several of them.
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
