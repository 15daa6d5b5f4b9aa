import { mayProve } from '#api/access'
import type { RouteEntry } from '#api/entry'

/**
 * Headers of answers with a meaning, and when they are sent. In addition every answer has `Date` and `X-Request-Id`.
 */

export const answerHeaders = {
  ETag: {
    description: 'Of this answer; with it in `If-None-Match` the next one may be 304.',
    schema: { type: 'string' },
  },
  Link: {
    description: 'If there are more items: `<…>; rel="next"` leads to the next page.',
    schema: { type: 'string', examples: ['</api/v1/devices?limit=100&cursor=U0VOU09SLTE>; rel="next"'] },
  },
  Location: { description: 'The path of the resource.', schema: { type: 'string' } },
  'Stream-Epoch': {
    description: 'Of the stream that the answer reflects: an event socket continues from this position.',
    schema: { type: 'string' },
  },
  'Stream-Offset': {
    description: 'The minimum position in the stream that the answer reflects.',
    schema: { type: 'integer', minimum: 0 },
  },
  'Retry-After': { description: 'Seconds to wait before the next attempt.', schema: { type: 'integer', minimum: 0 } },
  'WWW-Authenticate': { description: 'The accepted authentication schemes.', schema: { type: 'string' } },
  'DPoP-Nonce': {
    description: 'For the following proofs. May come with any answer; the latest counts.',
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
  if (304 in entry.answers && isSuccess) always.push('ETag')
  if (entry.hasPosition && isSuccess) always.push('Stream-Epoch', 'Stream-Offset')
  if (hasRanges && isSuccess) always.push('Accept-Ranges')
  if (hasRanges && (status === 206 || status === 416)) always.push('Content-Range')
  if (status === 201 || (status === 202 && entry.method === 'POST')) always.push('Location')
  if (status === 429 || status === 503) always.push('Retry-After')
  if (status === 401) always.push('WWW-Authenticate')
  if (status === 200 && isPaged(entry)) optional.push('Link')
  if (status === 400 && mayProve(entry)) optional.push('WWW-Authenticate')
  if (mayProve(entry) && (isSuccess || status === 400 || status === 401)) optional.push('DPoP-Nonce')
  return { always, optional }
}

function isPaged({ query }: RouteEntry): boolean {
  return query?.safeParse({ limit: '0' }).success === false
}
