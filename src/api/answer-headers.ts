import { mayProve } from '#api/access'
import type { RouteEntry } from '#api/entry'

/** Headers of answers that mean something, and when they come. Beside them every answer has `Date` and `X-Request-Id`. */

export const answerHeaders = {
  ETag: { description: 'Of this answer; with `If-None-Match` the next one may be 304.', schema: { type: 'string' } },
  Link: {
    description: 'Where there is more: `<…>; rel="next"` leads to the next page.',
    schema: { type: 'string', examples: ['</api/v1/devices?limit=100&cursor=U0VOU09SLTE>; rel="next"'] },
  },
  Location: { description: 'Where it is found, as a path.', schema: { type: 'string' } },
  'Stream-Epoch': {
    description: 'Of the stream that the answer reflects: events are taken from this position on.',
    schema: { type: 'string' },
  },
  'Stream-Offset': {
    description: 'The position in it that the answer reflects at least.',
    schema: { type: 'integer', minimum: 0 },
  },
  'Retry-After': { description: 'Seconds until it makes sense to come back.', schema: { type: 'integer', minimum: 0 } },
  'WWW-Authenticate': { description: 'How to say who asks.', schema: { type: 'string' } },
  'DPoP-Nonce': {
    description: 'For the proofs that follow. May come with any answer; the latest counts.',
    schema: { type: 'string' },
  },
  'Accept-Ranges': { description: 'Parts may be asked for by `Range`.', schema: { const: 'bytes' } },
  'Content-Range': { description: 'Which bytes these are, and of how many.', schema: { type: 'string' } },
} as const

export type AnswerHeader = keyof typeof answerHeaders

/** Those of one answer: what it always has, and what it has where there is reason. */
export interface HeadersOfAnswer {
  readonly always: readonly AnswerHeader[]
  readonly perhaps: readonly AnswerHeader[]
}

export function headersOfAnswer(entry: RouteEntry, status: number): HeadersOfAnswer {
  const always: AnswerHeader[] = []
  const perhaps: AnswerHeader[] = []
  const isSuccess = status < 300 || status === 304
  const hasRanges = 206 in entry.answers
  if (304 in entry.answers && isSuccess) always.push('ETag')
  if (entry.hasPosition && isSuccess) always.push('Stream-Epoch', 'Stream-Offset')
  if (hasRanges && isSuccess) always.push('Accept-Ranges')
  if (hasRanges && (status === 206 || status === 416)) always.push('Content-Range')
  if (status === 201 || (status === 202 && entry.method === 'POST')) always.push('Location')
  if (status === 429 || status === 503) always.push('Retry-After')
  if (status === 401) always.push('WWW-Authenticate')
  if (status === 200 && isPaged(entry)) perhaps.push('Link')
  if (status === 400 && mayProve(entry)) perhaps.push('WWW-Authenticate')
  if (mayProve(entry) && (isSuccess || status === 400 || status === 401)) perhaps.push('DPoP-Nonce')
  return { always, perhaps }
}

function isPaged({ query }: RouteEntry): boolean {
  return query?.safeParse({ limit: '0' }).success === false
}
