import { type RouteEntry, takesIdempotencyKey } from '#api/entry'

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
  IfRange: header('If-Range', 'The entity tag of the image of the range; for another image the whole one is returned.'),
  ContentRange: header(
    'Content-Range',
    'Of a part: `bytes <first>-<last>/<size>`. Without a body `bytes */<size>` asks how much was received.',
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
