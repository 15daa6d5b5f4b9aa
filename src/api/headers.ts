import { acceptsProof } from '#api/access'
import { type RouteEntry, takesIdempotencyKey } from '#api/route-entry'

/** Headers of answers, and when they are sent. Every answer also has `Date` and `X-Request-Id`. */

export const answerHeaders = {
  ETag: {
    description: 'For `If-Match` of a change, and for `If-None-Match` if the next answer may be 304.',
    schema: { type: 'string' },
  },
  Link: {
    description: 'If there are more items: `<…>; rel="next"` leads to the next page.',
    schema: { type: 'string', examples: ['</api/v1/devices?limit=100&cursor=U0VOU09SLTE>; rel="next"'] },
  },
  Location: { description: 'The path of the resource.', schema: { type: 'string' } },
  'Stream-Epoch': {
    description: 'The epoch of the stream that the answer reflects: an event socket continues from this position.',
    schema: { type: 'string' },
  },
  'Stream-Offset': {
    description: 'The minimum position in the stream that the answer reflects.',
    schema: { type: 'integer', minimum: 0 },
  },
  'Retry-After': { description: 'Seconds to wait before the next attempt.', schema: { type: 'integer', minimum: 0 } },
  'WWW-Authenticate': { description: 'The accepted authentication schemes.', schema: { type: 'string' } },
  'DPoP-Nonce': {
    description: 'The nonce for the following proofs. Any answer may have one; the latest counts.',
    schema: { type: 'string' },
  },
  'Accept-Ranges': { description: '`Range` may request a part.', schema: { const: 'bytes' } },
  'Content-Range': { description: 'The range of these bytes, and the whole size.', schema: { type: 'string' } },
} as const

export type AnswerHeader = keyof typeof answerHeaders

/** The headers of one answer: those it always has, and those it may have. */
export interface AnswerHeaderNames {
  readonly always: readonly AnswerHeader[]
  readonly optional: readonly AnswerHeader[]
}

export function headersOfAnswer(entry: RouteEntry, status: number): AnswerHeaderNames {
  const always: AnswerHeader[] = []
  const optional: AnswerHeader[] = []
  const isSuccess = status < 300 || status === 304
  const hasRanges = 206 in entry.answers
  if ((304 in entry.answers || entry.hasEntityTag) && isSuccess) always.push('ETag')
  if (entry.hasPosition && isSuccess) always.push('Stream-Epoch', 'Stream-Offset')
  if (hasRanges && isSuccess) always.push('Accept-Ranges')
  if (hasRanges && (status === 206 || status === 416)) always.push('Content-Range')
  if (status === 201 || (status === 202 && entry.method === 'POST')) always.push('Location')
  if (status === 429 || status === 503) always.push('Retry-After')
  if (status === 401) always.push('WWW-Authenticate')
  if (status === 200 && isPaged(entry)) optional.push('Link')
  if (status === 400 && acceptsProof(entry)) optional.push('WWW-Authenticate')
  if (acceptsProof(entry) && (isSuccess || status === 400 || status === 401)) optional.push('DPoP-Nonce')
  return { always, optional }
}

function isPaged({ query }: RouteEntry): boolean {
  return query?.safeParse({ limit: '0' }).success === false
}

/** Request headers other than credentials and those of every HTTP request, by the names of their components. */
export const requestHeaders = {
  IfNoneMatch: header(
    'If-None-Match',
    'Entity tags of answers that the client has: 304 if one is current. For a PUT, `*`: 412 if the resource exists.',
  ),
  IfMatch: header('If-Match', 'The entity tag of the resource to change: 412 if it has changed.'),
  IdempotencyKey: header(
    'Idempotency-Key',
    'Chosen by the client, 1 to 255 visible ASCII characters, such as a UUID. For 24 hours the same request ' +
      'with it takes effect once; another request with it is 422, and 409 while the first still runs.',
    { type: 'string', minLength: 1, maxLength: 255 },
  ),
  Range: header('Range', 'One range of bytes: `bytes=0-1023`, `bytes=1024-`, `bytes=-512`.'),
  IfRange: header(
    'If-Range',
    'The entity tag of the image that the range belongs to. If the image is another one, it is returned whole.',
  ),
  ContentRange: header(
    'Content-Range',
    'The place of a part: `bytes <first>-<last>/<size>`. Without a body, `bytes */<size>` asks how much was received.',
  ),
} as const

export type RequestHeader = keyof typeof requestHeaders

export function headersOfRequest(entry: RouteEntry): readonly RequestHeader[] {
  const names: RequestHeader[] = []
  if (304 in entry.answers) names.push('IfNoneMatch')
  if (412 in entry.answers) names.push('IfMatch', 'IfNoneMatch')
  if (206 in entry.answers) names.push('Range', 'IfRange')
  if (entry.body?.isStreamed) names.push('ContentRange')
  if (takesIdempotencyKey(entry)) names.push('IdempotencyKey')
  return names
}

function header(name: string, description: string, schema: object = { type: 'string' }) {
  return { name, in: 'header', description, schema }
}
