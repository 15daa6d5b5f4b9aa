import { z } from 'zod'
import { pathParameters } from '#api/fields'
import type { Action, Resource } from '#model/scope'

/**
 * Access to a route. There is no default: an entry without it does not compile. If the path names a device or a
 * service, the permission must require that these lie inside the caller's scope.
 *
 * - `none`: no authentication.
 * - `link`: a device or a gateway, by credentials of the device link. Contract 7.
 * - `session`: every authenticated caller, including API keys.
 * - `user`: every signed-in user; not an API key, which has no password and no sessions.
 * - `proof`: every client with a key pair that it proves, also without authentication. Contract 2, DPoP.
 * - `user or proof`: with `Authorization` as `user`, otherwise as `proof`.
 * - `hook`: a request with the signature of the update server, otherwise `update` on `updates`. Contract 6.
 * - a permission: 403 and 404 by contract 1.4.
 */
export type RouteAccess<Path extends string = string> =
  | 'none'
  | 'link'
  | 'session'
  | 'user'
  | 'proof'
  | 'user or proof'
  | 'hook'
  | Permission<Path>

export interface Permission<Path extends string = string> {
  readonly resource: Resource
  readonly action: Action
  /**
   * For a PUT that may create a resource: `create` is accepted too, and the handler checks the one that is needed.
   * Contract 2.
   */
  readonly mayCreate?: true
  /** The parts of the path that must lie inside one and the same grant: 404 otherwise. Contract 1.4. */
  readonly within: Within<Path>
}

/**
 * The parts of a path that must lie inside the caller's scope. `list`: none, but the answer leaves out items outside of
 * the scope. `tenant`: none, because the resource belongs to the tenant as a whole.
 */
type AnyWithin = 'service of device' | 'device' | 'service' | 'list' | 'tenant'

/** The values that `within` may have for this path. If the path names a device or a service, these must be checked. */
type Within<Path extends string> = string extends Path
  ? AnyWithin
  : Names<'deviceIdentifier', Path> extends true
    ? Names<'serviceIdentifier', Path> extends true
      ? 'service of device'
      : 'device'
    : Names<'serviceIdentifier', Path> extends true
      ? 'service'
      : 'list' | 'tenant'

type Names<Name, Path> = Name extends ParametersOf<Path> ? true : false

/** The names of a path's parameters. */
export type ParametersOf<Path> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParametersOf<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

type ParameterSchema<Path> = z.ZodType<Readonly<Record<ParametersOf<Path>, string>>>

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface RouteBody<B extends z.ZodType = z.ZodType> {
  readonly schema: B
  /** Default: `application/json`. `any`: any type, or none; the handler gets the body as bytes. */
  readonly contentTypes?: readonly string[] | 'any'
  /** Default: `BODY_BYTES_MAX`; for a streamed body `IMAGE_BYTES_MAX`; for a sign-in route `signInBytesMax`. */
  readonly bytesMax?: number
  /** The handler reads the body from `upload` as it arrives; the schema is not used. Each piece renews the deadline. */
  readonly isStreamed?: true
  /** Services, properties, alarms and groups may be given by name. */
  readonly acceptsNames?: true
}

export interface RouteAnswer {
  readonly description: string
  /** For a JSON body. */
  readonly schema?: z.ZodType
  /** For a body of another type. Without this and without a schema the body is empty. */
  readonly contentType?: string
}

/** By status. */
export type RouteAnswers = Readonly<Record<number, RouteAnswer>>

interface RouteExample {
  readonly parameters?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  /** For a streamed body: a text, which is sent unchanged. */
  readonly body?: unknown
  readonly status: number
  /** An example of the answer's body; absent if it is empty. */
  readonly answer?: unknown
}

interface RouteDetails<
  Path extends string,
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType,
  A extends RouteAnswers,
> {
  readonly summary: string
  readonly access: RouteAccess<Path>
  /**
   * The answer has `Stream-Epoch` and `Stream-Offset`: the minimum position of the stream that it reflects. Contract
   * 3.4.
   */
  readonly hasPosition?: true
  /** The answer has an `ETag` for changes, although it is never 304. Routes with 304 always have one. */
  readonly hasEntityTag?: true
  /** The request or the answer contains a secret, so neither is stored for an `Idempotency-Key`. Contract 1.10. */
  readonly isSecret?: true
  /** Default: the schemas of `pathParameters`. */
  readonly parameters?: P
  /** Invalid parameters are a 400 with details, for callers with the permission. §7, contract 1.4. */
  readonly areParameterFaultsShown?: true
  /**
   * The schema of query fields: strings, or arrays of strings when repeated. Unknown names are ignored (contract 1.5).
   */
  readonly query?: Q
  readonly body?: RouteBody<B>
  /** The errors that follow from the other fields are added: see `usualAnswers`. */
  readonly answers: A
  /** Default of `status`: the first of `answers`; of `parameters`: their examples in `pathParameters`. */
  readonly example?: Partial<RouteExample>
}

/** A route of the API. The router, tests, the API description and the client library read it. */
export interface RouteEntry<
  Path extends string = string,
  P extends z.ZodType = z.ZodType,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType = z.ZodType,
  M extends Method = Method,
  A extends RouteAnswers = RouteAnswers,
> extends RouteDetails<Path, P, Q, B, A> {
  readonly name: string
  readonly method: M
  readonly example: RouteExample
  /** With parameters as `:name`. In the API: the part after `/api/v1`. */
  readonly path: Path
}

/**
 * Checks an entry's shape at compile time and keeps its exact types.
 *
 * @param name unique, camelCase; becomes the operation's id
 */
export function defineRoute<
  const M extends Method,
  const Path extends string,
  Q extends z.ZodType,
  B extends z.ZodType,
  A extends RouteAnswers,
  P extends z.ZodType = ParameterSchema<Path>,
>(
  name: string,
  { route, ...details }: { readonly route: `${M} ${Path}` } & RouteDetails<Path, P, Q, B, A>,
): RouteEntry<Path, P, Q, B, M, A> {
  const space = route.indexOf(' ')
  const [method, path] = [route.slice(0, space) as M, route.slice(space + 1) as Path]
  const known = knownParametersOf(path)
  const parameters = details.parameters ?? (known?.schema as P | undefined)
  const answers = { ...usualAnswers({ ...details, parameters }), ...details.answers }
  const example = {
    status: Number(Object.keys(details.answers)[0]),
    ...details.example,
    ...(known && { parameters: { ...known.example, ...details.example?.parameters } }),
  }
  return { name, method, path, ...details, ...(parameters && { parameters }), answers, example }
}

/** Undefined for a path without parameters, or with another one than those of `pathParameters`. */
function knownParametersOf(path: string) {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name)
  const known = Object.entries(pathParameters).filter(([name]) => names.includes(name))
  if (known.length === 0 || known.length !== names.length) return undefined
  return {
    schema: z.object(Object.fromEntries(known.map(([name, { schema }]) => [name, schema]))),
    example: Object.fromEntries(known.map(([name, { example }]) => [name, example])),
  }
}

/** The errors of every route with this access, query, body and parameters. */
function usualAnswers(details: Readonly<Partial<Record<keyof RouteEntry, unknown>>>): RouteAnswers {
  const { access, parameters, query, body, areParameterFaultsShown } = details
  const hasPermission = typeof access === 'object'
  const namesTenant = query instanceof z.ZodObject && 'tenant' in query.shape
  return {
    ...(query || body || areParameterFaultsShown ? errorAnswers(400) : {}),
    ...(access !== 'none' && errorAnswers(401)),
    ...((hasPermission || access === 'user') && errorAnswers(403)),
    ...(hasPermission && (parameters || namesTenant) ? errorAnswers(404) : {}),
  }
}

/** Requests that may be repeated and take effect once. Contract 1.10. */

/** The lower-case name of the header. */
export const idempotencyKeyHeader = 'idempotency-key'

/**
 * Whether a route uses `Idempotency-Key`. Reads are repeatable anyway; streamed bodies can't be compared as a whole;
 * unauthenticated callers have no keys.
 */
export function takesIdempotencyKey({ method, access, body }: RouteEntry): boolean {
  return method !== 'GET' && !body?.isStreamed && !keyless.has(access)
}

/** Callers of routes with such an access are often unauthenticated. */
const keyless: ReadonlySet<RouteEntry['access']> = new Set(['none', 'link', 'proof', 'hook'])

/** The sign-in routes, and the limit of their bodies. Contract 2, changes to 1.3. */

/** A signed assertion of a security key, the longest of these bodies, has about 2 KiB. */
export const signInBytesMax = 8 * 1024

const signInPath = /^\/(?:auth\/.+|iam\/(?:signup|token))$/

export function isSignIn({ path }: RouteEntry): boolean {
  return signInPath.test(path)
}

/** Whether the route exchanges a refresh token, which clients do by themselves all day. */
export function isTokenRefresh({ method, path }: RouteEntry): boolean {
  return method === 'POST' && /^\/(?:auth|iam)\/token$/.test(path)
}

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

/** `answers: { 200: …, ...errorAnswers(409, 429) }`. */
export function errorAnswers<S extends Refusal>(...statuses: readonly S[]): Readonly<Record<S, RouteAnswer>> {
  return Object.fromEntries(statuses.map((status) => [status, refusals[status]])) as Record<S, RouteAnswer>
}

/** The answer to a change: the resource, or only its identifier if the caller may change but not read it. */
export function changeAnswer<S extends z.ZodRawShape, Name extends keyof S & string = 'resourceIdentifier' & keyof S>(
  thing: z.ZodObject<S>,
  name = 'resourceIdentifier' as Name,
) {
  return z.union([thing, z.object({ [name]: thing.shape[name] } as Pick<S, Name>)])
}
