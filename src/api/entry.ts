import type { z } from 'zod'
import type { Action, Resource } from '#model/scope'

/**
 * Who may call. It has no default: an entry without it does not compile, nor does one whose path names a device or a
 * service and whose permission does not say that they must lie inside.
 *
 * - `none`: anybody.
 * - `link`: a device or a gateway, by credentials of the device link. Contract 7.
 * - `session`: whoever is known, API keys among them.
 * - `person`: whoever signed in; not an API key, which has no password and no sessions.
 * - `proof`: whoever holds a key and proves it; nobody has to be known. Contract 2, DPoP.
 * - `person or proof`: with `Authorization` as `person`, else as `proof`.
 * - `hook`: whoever signed the request as the update server does, else whoever may `update` on `updates`. Contract 6.
 * - a permission: 403 and 404 by contract 1.4.
 */
export type RouteAccess<Path extends string = string> =
  | 'none'
  | 'link'
  | 'session'
  | 'person'
  | 'proof'
  | 'person or proof'
  | 'hook'
  | Permission<Path>

export interface Permission<Path extends string = string> {
  readonly resource: Resource
  readonly action: Action
  /** Of a PUT that may make something: who may `create` gets in too, and the answerer asks for what happens. Contract 2. */
  readonly mayCreate?: true
  /** What of the path must lie inside one and the same grant: 404 otherwise. Contract 1.4. */
  readonly within: Within<Path>
}

/**
 * What of a path must lie inside the caller's scope. `list`: nothing, but the answer leaves out what does not. `tenant`:
 * nothing, for the thing is the tenant's as a whole.
 */
type AnyWithin = 'service of device' | 'device' | 'service' | 'list' | 'tenant'

/** What an entry with this path has to say: a path that names a device or a service can't be entered without it. */
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

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface RouteBody<B extends z.ZodType = z.ZodType> {
  readonly schema: B
  /** Default: `application/json`. `any`: also none; the body comes as bytes, whatever it is said to be. */
  readonly contentTypes?: readonly string[] | 'any'
  /** Default: `BODY_BYTES_MAX`; of a streamed one `IMAGE_BYTES_MAX`. */
  readonly bytesMax?: number
  /** It is handed on as it comes, however long it takes; the schema is not asked. The answerer finds it in `upload`. */
  readonly isStreamed?: true
}

export interface RouteAnswer {
  readonly description: string
  /** Of a body in JSON. */
  readonly schema?: z.ZodType
  /** Of a body that is something else. Without this and without a schema it is empty. */
  readonly contentType?: string
}

/** By status. */
export type RouteAnswers = Readonly<Record<number, RouteAnswer>>

interface RouteExample {
  readonly parameters?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  /** Of a streamed one a text, sent as it is. */
  readonly body?: unknown
  readonly status: number
  /** The answer's body, as it would be; absent when empty. */
  readonly answer?: unknown
}

/** One thing that can be called. Read by the router, by tests, by the API description and by the client library. */
export interface RouteEntry<
  Path extends string = string,
  P extends z.ZodType = z.ZodType,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType = z.ZodType,
  M extends Method = Method,
  A extends RouteAnswers = RouteAnswers,
> {
  /** Unique, camelCase; becomes the operation's id. */
  readonly name: string
  readonly method: M
  /** Below `/api/v1`, parameters as `:name`. */
  readonly path: Path
  /** Where the specification says so. */
  readonly source: string
  readonly summary: string
  readonly access: RouteAccess<Path>
  /** Its answer says in `Stream-Epoch` and `Stream-Offset` which position of the stream it reflects at least. Contract 3.4. */
  readonly hasPosition?: true
  /** Its request or its answer holds a secret: nothing of it is kept under an `Idempotency-Key`. Contract 1.10. */
  readonly isSecret?: true
  /** Of path parameters; one that does not fit makes the path unknown (404). */
  readonly parameters?: P
  /** What is wrong with them is a 400 that says so, for who may act here at all. §7, contract 1.4. */
  readonly areParametersTold?: true
  /**
   * Of query fields, each a string, or an array of strings when repeated; unknown names are ignored (contract 1.5).
   */
  readonly query?: Q
  readonly body?: RouteBody<B>
  readonly answers: A
  readonly example: RouteExample
}

/** Checks an entry's shape at compile time and keeps its exact types. */
export function defineRoute<
  const Path extends string,
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType,
  const M extends Method,
  A extends RouteAnswers,
>(entry: RouteEntry<Path, P, Q, B, M, A>): RouteEntry<Path, P, Q, B, M, A> {
  return entry
}
