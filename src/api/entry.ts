import type { z } from 'zod'
import type { Action, Resource } from '#model/scope'

/**
 * One thing that can be called. Read by the router, by tests, by the API description and by the client library.
 *
 * `access` has no default: an entry without it does not compile.
 * - `'none'`: anybody. - `'session'`: whoever is known. - `{resource, action}`: 403 without it (contract 1.4).
 */
export type RouteAccess = 'none' | 'session' | { readonly resource: Resource; readonly action: Action }

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface RouteBody<B extends z.ZodType = z.ZodType> {
  readonly schema: B
  /** Default: `application/json`. */
  readonly contentTypes?: readonly string[]
  /** Default: `BODY_BYTES_MAX`. */
  readonly bytesMax?: number
}

export interface RouteAnswer {
  readonly description: string
  /** Absent: empty body. */
  readonly schema?: z.ZodType
}

export interface RouteExample {
  readonly parameters?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly status: number
  /** The answer's body, as it would be; absent when empty. */
  readonly answer?: unknown
}

export interface RouteEntry<
  P extends z.ZodType = z.ZodType,
  Q extends z.ZodType = z.ZodType,
  B extends z.ZodType = z.ZodType,
> {
  /** Unique, camelCase; becomes the operation's id. */
  readonly name: string
  readonly method: Method
  /** Below `/api/v1`, parameters as `:name`. */
  readonly path: string
  /** Where the specification says so. */
  readonly source: string
  readonly summary: string
  readonly access: RouteAccess
  /** Of path parameters; one that does not fit makes the path unknown (404). */
  readonly parameters?: P
  /**
   * Of query fields, each a string, or an array of strings when repeated; unknown names are ignored (contract 1.5).
   */
  readonly query?: Q
  readonly body?: RouteBody<B>
  readonly answers: Readonly<Record<number, RouteAnswer>>
  readonly example: RouteExample
}

/** Checks an entry's shape at compile time and keeps its exact types. */
export function defineRoute<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType>(
  entry: RouteEntry<P, Q, B>,
): RouteEntry<P, Q, B> {
  return entry
}
