import { z } from 'zod'
import type { RouteAnswer } from '#api/entry'

/** What several routes refuse alike. Contract 1.3, 1.4. */

type Refusal = 400 | 401 | 403 | 404 | 409 | 412 | 429 | 503

/** Of every refusal that has no other. */
export const ErrorBody = z.object({ error: z.string() })
/** Of `400 Validation Error`. */
export const ValidationBody = z.object({
  error: z.string(),
  details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
})
/** Of a mistake of ours. */
export const ServerErrorBody = z.object({ error: z.string(), message: z.string(), statusCode: z.literal(500) })

const refusals: Readonly<Record<Refusal, RouteAnswer>> = {
  400: { description: 'The request does not fit, or needs a nonce', schema: ValidationBody },
  401: { description: 'Who is asking is not known, or may not be believed', schema: ErrorBody },
  403: { description: 'None of the roles of the caller gives this, or it goes beyond his own grants' },
  404: { description: 'There is no such thing, or it lies outside of what the caller may reach', schema: ErrorBody },
  409: { description: 'It stands in the way of something that is there', schema: ErrorBody },
  412: { description: 'It is not as `If-Match` or `If-None-Match` says', schema: ErrorBody },
  429: {
    description:
      'Too many failed attempts, or more than the share of one user or tenant; `Retry-After` is the time to wait',
    schema: ErrorBody,
  },
  503: { description: 'Storage is full, or too much waits; `Retry-After` says when to come back', schema: ErrorBody },
}

/** Of what is read by itself: the client has it by its entity tag. */
export const asItWas = { 304: { description: 'As it was' } } as const

/** `answers: { 200: …, ...refused(401, 404) }`. */
export function refused<S extends Refusal>(...statuses: readonly S[]): Readonly<Record<S, RouteAnswer>> {
  return Object.fromEntries(statuses.map((status) => [status, refusals[status]])) as Record<S, RouteAnswer>
}
