import type { z } from 'zod'
import type { Method, ParametersOf, RouteAnswers, RouteBody } from '#api/route-entry'

/**
 * The routes that can be called, as types only: at run time `GET /devices` is just method and path. Parameter types are
 * the inputs of the schemas, answer types are their outputs.
 */
type Entries =
  | Of<typeof import('#api/alarms')>
  | Of<typeof import('#api/audit')>
  | Of<typeof import('#api/backup')>
  | Of<typeof import('#api/cluster')>
  | Of<typeof import('#api/descriptions')>
  | Of<typeof import('#api/desired')>
  | Of<typeof import('#api/devices')>
  | Of<typeof import('#api/events')>
  | Of<typeof import('#api/functions')>
  | Of<typeof import('#api/groups')>
  | Of<typeof import('#api/health')>
  | Of<typeof import('#api/history')>
  | Of<typeof import('#api/history-selection')>
  | Of<typeof import('#api/keys')>
  | Of<typeof import('#api/link')>
  | Of<typeof import('#api/meta')>
  | Of<typeof import('#api/notifications')>
  | Of<typeof import('#api/roles')>
  | Of<typeof import('#api/schemas')>
  | Of<typeof import('#api/second-factors')>
  | Of<typeof import('#api/sessions')>
  | Of<typeof import('#api/sign-in')>
  | Of<typeof import('#api/templates')>
  | Of<typeof import('#api/tenants')>
  | Of<typeof import('#api/update-projects')>
  | Of<typeof import('#api/updates')>
  | Of<typeof import('#api/users')>
  | Of<typeof import('#api/webauthn')>
  | Of<typeof import('#api/writes')>

interface AnyEntry {
  readonly method: Method
  readonly path: string
  readonly query?: z.ZodType
  readonly body?: RouteBody
  readonly answers: RouteAnswers
}

/** The entries among the exports of a module. */
type Of<M> = Extract<M[keyof M], AnyEntry>

type Routes = { [E in Entries as `${E['method']} ${E['path']}`]: E }

/** Texts in a query may also be numbers or booleans: `depth: 2`, `raw: false`. */
type QueryValue<T> = string extends T ? T | number : 'true' extends T ? T | boolean : T

type QuerySchema<E extends AnyEntry> = NonNullable<E['query']>

/** A route without a schema for the query has no fields in the query. */
type QueryOf<E extends AnyEntry> =
  z.ZodType extends QuerySchema<E> ? Readonly<Record<never, never>> : z.input<QuerySchema<E>>

type BodySchema<E extends AnyEntry> = NonNullable<E['body']>['schema']

type SuccessStatus = 200 | 201 | 202 | 204

type SuccessAnswers<A> = {
  [S in keyof A & SuccessStatus]: A[S] extends { readonly schema: infer Z extends z.ZodType } ? z.output<Z> : undefined
}[keyof A & SuccessStatus]

/** The types of each route, by method and path. */
export type RouteTable = {
  [R in keyof Routes]: {
    readonly parameters: Readonly<Record<ParametersOf<Routes[R]['path']>, string>>
    readonly query: { readonly [K in keyof QueryOf<Routes[R]>]: QueryValue<QueryOf<Routes[R]>[K]> }
    readonly body: z.ZodType extends BodySchema<Routes[R]> ? undefined : z.input<BodySchema<Routes[R]>>
    /** The body of a 2xx answer, `undefined` without a body. */
    readonly answer: SuccessAnswers<Routes[R]['answers']>
  }
}
