import { z } from 'zod'
import type { RouteAnswer } from '#api/route-entry'

/** Errors of several routes. Contract 1.3, 1.4. */

type Refusal = 400 | 401 | 403 | 404 | 409 | 412 | 429 | 503

/** The body of errors, except those with one of the bodies below. */
export const ErrorBody = z.object({ error: z.string() })
/** The body of `400 Validation Error`. */
export const ValidationBody = z.object({
  error: z.string(),
  details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
})
/** The body of an error that is a bug of the server. */
export const ServerErrorBody = z.object({ error: z.string(), message: z.string(), statusCode: z.literal(500) })

const refusals: Readonly<Record<Refusal, RouteAnswer>> = {
  400: { description: 'The request is not valid, or needs a nonce', schema: ValidationBody },
  401: { description: 'The credentials are missing or not valid', schema: ErrorBody },
  403: { description: `No role of the caller permits this, or it exceeds the caller's own grants` },
  404: { description: `The resource does not exist, or lies outside of the caller's grants`, schema: ErrorBody },
  409: { description: 'It conflicts with an existing resource', schema: ErrorBody },
  412: { description: 'The condition in `If-Match` or `If-None-Match` is not met', schema: ErrorBody },
  429: {
    description:
      'Too many failed attempts, or the limit of a user or tenant is reached; `Retry-After` is the time to wait',
    schema: ErrorBody,
  },
  503: {
    description: 'The storage is full, or the server is overloaded; retry after the time in `Retry-After`',
    schema: ErrorBody,
  },
}

/** For reads: the client has the content with this entity tag. */
export const notModified = { 304: { description: 'Not changed' } } as const

/** `answers: { 200: …, ...errorAnswers(401, 404) }`. */
export function errorAnswers<S extends Refusal>(...statuses: readonly S[]): Readonly<Record<S, RouteAnswer>> {
  return Object.fromEntries(statuses.map((status) => [status, refusals[status]])) as Record<S, RouteAnswer>
}

/** The answer to a change: the resource, or only its identifier if the caller may change but not read it. */
export function changeAnswer<S extends z.ZodRawShape, Name extends keyof S & string>(
  thing: z.ZodObject<S>,
  name: Name,
) {
  return z.union([thing, z.object({ [name]: thing.shape[name] } as Pick<S, Name>)])
}
