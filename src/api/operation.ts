import { z } from 'zod'
import { accessOf, known } from '#api/access'
import { headersOfAnswer } from '#api/answer-headers'
import { type RouteAnswer, type RouteEntry, takesIdempotencyKey } from '#api/entry'
import { ErrorBody, ServerErrorBody } from '#api/error-answers'
import { fieldNotes } from '#api/field-notes'
import type { JsonSchema, SchemaCollection } from '#api/json-schema'
import { headersOfRequest } from '#api/request-headers'

/** The fields that later steps read. */
export interface Operation {
  readonly [field: string]: unknown
  readonly responses: Record<string, object>
}

/** One entry as an operation of OpenAPI. https://spec.openapis.org/oas/v3.1.1.html#operation-object */
export function operationOf(entry: RouteEntry, tag: string, collection: SchemaCollection): Operation {
  const { name, summary, access, isSecret, parameters, query, body, answers, example } = entry
  const { security, text } = accessOf(entry)
  const asked = [
    ...parametersOf(parameters, 'path', example.parameters, collection),
    ...parametersOf(query, 'query', example.query, collection),
    ...headersOfRequest(entry).map((header) => ({ $ref: `#/components/parameters/${header}` })),
  ]
  return {
    tags: [tag],
    operationId: name,
    summary,
    description: isSecret ? `${text} Contains a secret: nothing of it is stored.` : text,
    ...(typeof access === 'object' && { 'x-permission': access }),
    // Most have that of the whole document.
    ...(security !== known && { security }),
    ...(asked.length > 0 && { parameters: asked }),
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

/** One of them, as a component. */
export function generalAnswerOf(status: number, collection: SchemaCollection): object {
  const schema = collection.output(status === 500 ? ServerErrorBody : ErrorBody)
  return {
    description: generalAnswers[status],
    ...(status === 503 && { headers: { 'Retry-After': { $ref: '#/components/headers/Retry-After' } } }),
    content: { 'application/json': { schema } },
  }
}

function generalAnswersOf(entry: RouteEntry): number[] {
  const isMeant: Readonly<Record<number, boolean>> = {
    408: entry.body !== undefined,
    413: entry.body !== undefined,
    415: entry.body !== undefined && entry.body.contentTypes !== 'any',
    422: takesIdempotencyKey(entry),
    500: true,
    503: true,
  }
  return Object.keys(generalAnswers)
    .map(Number)
    .filter((status) => isMeant[status] && !(status in entry.answers))
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
      ...(example !== undefined && { example: asSchemaSays(shown, example) }),
    }
  })
}

/** Examples of queries are text, as they are sent. */
function asSchemaSays({ type }: JsonSchema, text: string): unknown {
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
