import type { RouteTable } from '#client/route-table'

/** `GET /devices`, `PUT /devices/:deviceIdentifier/services/:serviceIdentifier/properties`, … */
export type RouteName = keyof RouteTable

export type Parameters<R extends RouteName> = RouteTable[R]['parameters']

export type Query<R extends RouteName> = RouteTable[R]['query']

export type Body<R extends RouteName> = RouteTable[R]['body']

/** The body of a 2xx answer, `undefined` without a body. */
export type Answer<R extends RouteName> = RouteTable[R]['answer']

/** The name of a route whose answer is a list, for `pages`. */
export type ListName = { [R in RouteName]: Answer<R> extends readonly unknown[] ? R : never }[RouteName]

/** An entry of the list of this route. */
export type Item<R extends RouteName> = Answer<R> extends readonly (infer I)[] ? I : never

/** The arguments of a call. The route determines which arguments are required. */
type Call<R extends RouteName> = CallOptions &
  (Record<never, never> extends Parameters<R>
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
  /** The `etag` of an earlier answer; the server answers 304 without a body if the resource has not changed since. */
  readonly ifNoneMatch?: string | undefined
  /**
   * The `etag` of the resource to change; the server answers 412 if the resource has changed since. Browsers refuse
   * such a call on pages of other origins.
   */
  readonly ifMatch?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * The call fails with `ConnectionLost` if no byte arrives for this time. Default: 30 s; 120 s for calls that wait for
   * devices; no limit for raw bodies.
   */
  readonly silenceMs?: number | undefined
}

/** A whole answer of any status. */
export interface WholeAnswer<R extends RouteName = RouteName> {
  readonly status: number
  readonly headers: Headers
  /** The body of the route's 2xx answer, or of a refusal: parsed JSON, a text, or bytes, by content type. */
  readonly body: Answer<R> | unknown
}
