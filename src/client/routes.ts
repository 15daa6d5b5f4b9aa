import type { z } from 'zod'
import type { Method, ParametersOf, RouteAnswers, RouteBody } from '#api/entry'

/**
 * The routes that can be called, as types only: at run time `GET /devices` is just method and path. Parameter types are
 * the inputs of the schemas, answer types are their outputs.
 */
type Entries =
  | Of<typeof import('#api/actions')>
  | Of<typeof import('#api/alarms')>
  | Of<typeof import('#api/api-keys')>
  | Of<typeof import('#api/backup')>
  | Of<typeof import('#api/basic-tokens')>
  | Of<typeof import('#api/descriptions')>
  | Of<typeof import('#api/devices')>
  | Of<typeof import('#api/events')>
  | Of<typeof import('#api/functions')>
  | Of<typeof import('#api/groups')>
  | Of<typeof import('#api/health')>
  | Of<typeof import('#api/identity')>
  | Of<typeof import('#api/jwks')>
  | Of<typeof import('#api/link')>
  | Of<typeof import('#api/login')>
  | Of<typeof import('#api/meta')>
  | Of<typeof import('#api/outbox')>
  | Of<typeof import('#api/provisioning-keys')>
  | Of<typeof import('#api/roles')>
  | Of<typeof import('#api/schemas')>
  | Of<typeof import('#api/second-factors')>
  | Of<typeof import('#api/sessions')>
  | Of<typeof import('#api/sign-up')>
  | Of<typeof import('#api/signing-keys')>
  | Of<typeof import('#api/subscriptions')>
  | Of<typeof import('#api/templates')>
  | Of<typeof import('#api/tenants')>
  | Of<typeof import('#api/unsubscribe')>
  | Of<typeof import('#api/update-hook')>
  | Of<typeof import('#api/update-images')>
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

/** `GET /devices`, `PUT /devices/:deviceIdentifier/services/:serviceIdentifier/properties`, … */
export type RouteName = keyof Routes

export type Parameters<R extends RouteName> = Readonly<Record<ParametersOf<Routes[R]['path']>, string>>

/** Texts in a query may also be numbers or booleans: `depth: 2`, `raw: false`. */
type QueryValue<T> = string extends T ? T | number : 'true' extends T ? T | boolean : T

type QuerySchema<R extends RouteName> = NonNullable<Routes[R]['query']>

/** A route without a schema for query or body accepts anything. */
type QueryOf<R extends RouteName> =
  z.ZodType extends QuerySchema<R> ? Readonly<Record<never, never>> : z.input<QuerySchema<R>>

export type Query<R extends RouteName> = { readonly [K in keyof QueryOf<R>]: QueryValue<QueryOf<R>[K]> }

type BodySchema<R extends RouteName> = NonNullable<Routes[R]['body']>['schema']

export type Body<R extends RouteName> = z.ZodType extends BodySchema<R> ? undefined : z.input<BodySchema<R>>

type SuccessStatus = 200 | 201 | 202 | 204

type SuccessAnswers<A> = {
  [S in keyof A & SuccessStatus]: A[S] extends { readonly schema: infer Z extends z.ZodType } ? z.output<Z> : undefined
}[keyof A & SuccessStatus]

/** The body of a 2xx answer, `undefined` without a body. */
export type Answer<R extends RouteName> = SuccessAnswers<Routes[R]['answers']>

/** Names of routes whose answer is a list, for `pages`. */
export type ListName = { [R in RouteName]: Answer<R> extends readonly unknown[] ? R : never }[RouteName]

/** An entry of the list of this route. */
export type Item<R extends RouteName> = Answer<R> extends readonly (infer I)[] ? I : never

/** The arguments of a call; which ones are required depends on the route. */
type Call<R extends RouteName> = CallOptions &
  ([ParametersOf<Routes[R]['path']>] extends [never]
    ? { readonly parameters?: undefined }
    : { readonly parameters: Parameters<R> }) &
  (Record<never, never> extends Query<R> ? { readonly query?: Query<R> } : { readonly query: Query<R> }) &
  (undefined extends Body<R> ? { readonly body?: Body<R> } : { readonly body: Body<R> })

/** `call('GET /devices')` needs no arguments; routes with parameters or a body do. */
export type CallArguments<R extends RouteName> =
  Record<never, never> extends Call<R> ? readonly [call?: Call<R>] : readonly [call: Call<R>]

export interface CallOptions {
  /** Aborts the request; the call rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
  /** A request that is repeated with the same key is processed once. Contract 1.10. */
  readonly idempotencyKey?: string | undefined
  /** The `etag` of an earlier answer; an unchanged resource is answered with 304 and no body. */
  readonly ifNoneMatch?: string | undefined
  /**
   * The `etag` of the resource to change; the server answers 412 if the resource has changed since. Only on the
   * server's own pages.
   */
  readonly ifMatch?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * The call fails with `ConnectionLost` if no byte arrives for this time. Default: 30 s; 120 s for calls that wait for
   * devices; no limit for raw bodies.
   */
  readonly silenceMs?: number | undefined
}

/** A whole answer of any status. `body`: parsed JSON, a text, or bytes, by content type. */
export interface WholeAnswer<R extends RouteName = RouteName> {
  readonly status: number
  readonly headers: Headers
  /** The body of the route's 2xx answer, or of a refusal. */
  readonly body: Answer<R> | unknown
}
