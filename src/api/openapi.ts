import { z } from 'zod'
import { acceptsProof, accessOf, anyCaller, securitySchemes } from '#api/access'
import { chapters } from '#api/chapters'
import { about } from '#api/descriptions'
import { documentSchemas } from '#api/document-schemas'
import type { JsonSchema, SchemaCollection } from '#api/json-schema'
import { ErrorBody, type RouteAnswer, type RouteEntry, ServerErrorBody, takesIdempotencyKey } from '#api/route-entry'

const intro = `Devices offer services, services have numbered properties. Applications read their state, receive its
changes as events, and write to devices.

* **Paths** are relative to \`/api/v1\`; the public keys are also at the root. **JSON** in UTF-8; fields of a body that
  are not listed are refused, unknown names in a query are ignored. **Times** are Unix milliseconds.
* **Lists** are arrays in ascending order; with \`limit\` they come in pages, and the \`Link\` header leads to the next one.
* **Errors**: 400 with \`details\` if a body or a query is not valid; 403 is empty; resources outside of the caller's grants
  are 404, like missing ones. Every answer has \`X-Request-Id\`, which is also in the log.
* **Without authentication** (\`IAM=off\`) credentials are ignored, and the paths below \`/iam\` and \`/auth\`, except
  \`/iam/me\`, are 404.
* The websockets of events and of devices are described by the AsyncAPI document. The dashboard, \`/docs\`
  and \`/metrics\` are at the root.`

/** All HTTP routes, as OpenAPI 3.1. https://spec.openapis.org/oas/v3.1.1.html */
export function openApiDocument(): JsonSchema {
  const collection = documentSchemas('draft-2020-12')
  const paths: Paths = {}
  for (const { name, entries } of chapters) {
    for (const entry of entries) {
      const path = entry.path.replace(/:(\w+)/g, '{$1}')
      paths[path] = { ...paths[path], [entry.method.toLowerCase()]: operationOf(entry, name, collection) }
    }
  }
  const general = Object.keys(generalAnswers).map((status) => [status, generalAnswerOf(Number(status), collection)])
  const responses = shareAnswers(paths, Object.fromEntries(general))
  return collection.complete({
    openapi: '3.1.1',
    info: { ...about, description: intro },
    servers: [{ url: '/api/v1' }],
    security: anyCaller,
    tags: chapters.map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      securitySchemes,
      parameters: requestHeaders,
      headers: answerHeaders,
      responses,
    },
  })
}

/** The fields that later steps read. */
interface Operation {
  readonly [field: string]: unknown
  readonly responses: Record<string, object>
}

/** One entry as an operation of OpenAPI. https://spec.openapis.org/oas/v3.1.1.html#operation-object */
function operationOf(entry: RouteEntry, tag: string, collection: SchemaCollection): Operation {
  const { name, summary, access, isSecret, parameters, query, body, answers, example } = entry
  const { security, text } = accessOf(entry)
  const requestParameters = [
    ...parametersOf(parameters, 'path', example.parameters, collection),
    ...parametersOf(query, 'query', example.query, collection),
    ...headersOfRequest(entry).map((header) => ({ $ref: `#/components/parameters/${header}` })),
  ]
  return {
    tags: [tag],
    operationId: name,
    summary,
    description: isSecret ? `${text} The request or the answer contains a secret, so neither is stored.` : text,
    ...(typeof access === 'object' && { 'x-permission': access }),
    // Most operations have the security of the whole document.
    ...(security !== anyCaller && { security }),
    ...(requestParameters.length > 0 && { parameters: requestParameters }),
    ...(body && { requestBody: requestBodyOf(entry, collection) }),
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, answer]) => [
          status,
          responseOf(entry, Number(status), answer, collection),
        ]),
      ),
      ...Object.fromEntries(
        generalAnswersOf(entry).map((status) => [status, { $ref: `#/components/responses/${status}` }]),
      ),
    },
  }
}

/** Errors with the same cause in all routes, for entries without a description of their own. */
export const generalAnswers: Readonly<Record<number, string>> = {
  408: 'The body arrived too slowly',
  413: 'The body exceeds the size limit',
  415: 'The content type of the body is not accepted',
  422: 'The `Idempotency-Key` belongs to another request',
  500: 'An error of the server; a retry is safe. The log has the details under the request id of the answer',
  503: 'The storage is full, the server is overloaded or stopping, or the request took too long; retry after the time in `Retry-After`',
}

/** The general error of this status, as a component. */
function generalAnswerOf(status: number, collection: SchemaCollection): object {
  const schema = collection.output(status === 500 ? ServerErrorBody : ErrorBody)
  return {
    description: generalAnswers[status],
    ...(status === 503 && { headers: { 'Retry-After': { $ref: '#/components/headers/Retry-After' } } }),
    content: { 'application/json': { schema } },
  }
}

function generalAnswersOf(entry: RouteEntry): number[] {
  const isPossible: Readonly<Record<number, boolean>> = {
    408: entry.body !== undefined,
    413: entry.body !== undefined,
    415: entry.body !== undefined && entry.body.contentTypes !== 'any',
    422: takesIdempotencyKey(entry),
    500: true,
    503: true,
  }
  return Object.keys(generalAnswers)
    .map(Number)
    .filter((status) => isPossible[status] && !(status in entry.answers))
}

function parametersOf(
  schema: z.ZodType | undefined,
  place: 'path' | 'query',
  examples: Readonly<Record<string, string>> | undefined,
  collection: SchemaCollection,
): object[] {
  if (!(schema instanceof z.ZodObject)) return []
  return Object.entries(schema.shape as Record<string, z.ZodType>).map(([name, field]) => {
    const description = fieldNotes[name]
    const example = examples?.[name]
    const isRequired = place === 'path' || !field.safeParse(undefined).success
    const shown = collection.input(field)
    return {
      name,
      in: place,
      ...(isRequired && { required: true }),
      ...(description !== undefined && { description }),
      schema: shown,
      ...(example !== undefined && { example: typedExample(shown, example) }),
    }
  })
}

/** Converts an example of a query from text, as it is sent, to the type of its schema. */
function typedExample({ type }: JsonSchema, text: string): unknown {
  if (type === 'integer') return Number(text)
  if (type === 'boolean') return text === 'true'
  return type === 'array' ? [text] : text
}

function requestBodyOf({ body, example }: RouteEntry, collection: SchemaCollection): object {
  if (!body) return {}
  if (body.isStreamed) {
    return {
      description: 'The raw bytes, at most `IMAGE_BYTES_MAX`.',
      content: { 'application/octet-stream': { example: example.body } },
    }
  }
  const media = {
    schema: collection.input(body.schema),
    ...(example.body !== undefined && { example: example.body }),
  }
  const types =
    body.contentTypes === undefined || body.contentTypes === 'any' ? ['application/json'] : body.contentTypes
  const isRequired = body.contentTypes !== 'any' && !body.schema.safeParse(undefined).success
  return { ...(isRequired && { required: true }), content: Object.fromEntries(types.map((type) => [type, media])) }
}

function responseOf(
  entry: RouteEntry,
  status: number,
  { description, schema, contentType }: RouteAnswer,
  collection: SchemaCollection,
) {
  const { example } = entry
  const { always, optional } = headersOfAnswer(entry, status)
  const headers = [...always, ...optional].map((name) => [name, { $ref: `#/components/headers/${name}` }])
  const media = {
    ...(schema && { schema: collection.output(schema) }),
    ...(status === example.status && example.answer !== undefined && { example: example.answer }),
  }
  return {
    description,
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) }),
    ...((schema || contentType) && { content: { [contentType ?? 'application/json']: media } }),
  }
}

/** Operations by path and method, with the fields that matter here. */
type Paths = Record<string, Record<string, { responses: Record<string, object> }>>

/**
 * Errors that several operations describe alike become components, and the operations refer to these. A component has
 * the name of its status; the second one of status 401 is `401-2`. `taken`: components that exist already.
 */
function shareAnswers(paths: Paths, taken: Readonly<Record<string, object>>): Record<string, object> {
  const places = new Map<string, Record<string, object>[]>()
  for (const { responses } of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    for (const [status, answer] of Object.entries(responses)) {
      if (Number(status) < 400 || '$ref' in answer) continue
      const alike = `${status} ${JSON.stringify(answer)}`
      places.set(alike, [...(places.get(alike) ?? []), responses])
    }
  }
  const components: Record<string, object> = { ...taken }
  for (const [alike, found] of places) {
    const [status = ''] = alike.split(' ', 1)
    const [{ [status]: answer } = {}] = found
    if (!answer || found.length === 1) continue
    const name = freeName(components, status)
    components[name] = answer
    for (const responses of found) responses[status] = { $ref: `#/components/responses/${name}` }
  }
  return components
}

function freeName(taken: Readonly<Record<string, object>>, status: string): string {
  let count = 1
  while ((count === 1 ? status : `${status}-${count}`) in taken) count++
  return count === 1 ? status : `${status}-${count}`
}

/** Descriptions of path and query fields, by name: a name means the same in all routes. */
const fieldNotes: Readonly<Record<string, string>> = {
  actionId: 'The id in the answer to the request that created the action.',
  active: 'Only active alarms, or only inactive ones.',
  all: 'Ends all sessions of the user, not only this one.',
  cursor: 'From the `Link` header of the previous page.',
  depth: 'The depth of the answer: 0 identifiers, 1 and 2 their content. A larger number means the deepest.',
  device: 'A part of the signed URL.',
  deviceIdentifier: 'The device. In a query it may be repeated.',
  exp: 'A part of the signed URL.',
  filter:
    'A condition (JsonLogic as JSON) over `deviceIdentifier`, `status`, `meta`, `services.<serviceIdentifier>` and `services.<serviceIdentifier>.<name or 0x-id>`.',
  firmware: 'A semantic version.',
  grant_type: 'The purpose of the token.',
  hardware: 'The hardware of the release, if there are several.',
  hex: 'Keys in hexadecimal: `0x2000` for 8192.',
  index: 'The number of the firmware, if a device has several.',
  key: 'A key of `meta`.',
  limit: 'The maximum number of items on a page. Without it the answer contains all.',
  project: 'A project of the update server.',
  projectIdentifier: 'A project of the update server.',
  raw: 'With `false`: properties by their name in the schema, and only their values.',
  scope: '`offline` also requests a refresh token.',
  sha256: 'SHA-256 in lower-case hexadecimal.',
  sig: 'A part of the signed URL.',
  tenant: `A tenant other than the caller's own, bare or as a resource name: for administrators of tenants.`,
  user: 'A part of the signed URL.',
  wait: 'With 0 the answer does not wait for the device.',
}

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
const requestHeaders = {
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

type RequestHeader = keyof typeof requestHeaders

function headersOfRequest(entry: RouteEntry): readonly RequestHeader[] {
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
