import type { RouteEntry } from '#api/entry'
import { takesIdempotencyKey } from '#api/idempotency-key'

/** Headers of requests beside credentials and what HTTP has by itself, by the name of their component. */
export const requestHeaders = {
  IfNoneMatch: header(
    'If-None-Match',
    'Entity tags of answers that are at hand: 304 if one still holds. Where something is put, `*`: 412 if it is there.',
  ),
  IfMatch: header('If-Match', 'The entity tag of what is to be changed: 412 if it is not that any more.'),
  IdempotencyKey: header(
    'Idempotency-Key',
    'Of the client’s choice, 1 to 255 visible ASCII characters, such as a UUID. For 24 hours the same request under it is ' +
      'done once; another one is 422, and 409 while the first still runs.',
    { type: 'string', minLength: 1, maxLength: 255 },
  ),
  Range: header('Range', 'One range of bytes: `bytes=0-1023`, `bytes=1024-`, `bytes=-512`.'),
  IfRange: header('If-Range', 'The entity tag that the range is of; of another image the whole comes.'),
  ContentRange: header(
    'Content-Range',
    'Of a part: `bytes <first>-<last>/<size>`. Without a body `bytes */<size>` asks how much there is.',
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
