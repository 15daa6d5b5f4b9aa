import { createHash } from 'node:crypto'
import { nameOfCursor } from '#api/fields'
import type { Call, Reply } from '#http/call'
import type { RouteContext } from '#routes/context'
import { pageOf } from '#routes/list-page'
import type { TextOrParts } from '#routes/state-text'
import { streamObjects } from '#routes/streamed-reply'
import { namesOf, type Pages } from '#runtime/storage'

/** A list of objects by name: all, or one page. Contract 3.4. */
export interface ListOf {
  readonly limit: number | undefined
  readonly names: Pages
  /** Whether the caller may see this object. */
  readonly isShown: (name: string) => boolean
  /**
   * Whether a visible entry currently matches the query; undefined: all match. Only matching entries count for a page.
   */
  readonly isMatching?: ((name: string) => boolean) | undefined
  /** Undefined if the object was deleted meanwhile or does not match. */
  readonly textOf: (name: string) => TextOrParts | undefined
  /** The text that a cursor contains instead of a name, to be shorter. Default: the name. */
  readonly placeOf?: (name: string) => string
}

export async function listReply(
  context: RouteContext,
  call: Call,
  headers: Record<string, string>,
  { limit, names, isShown, isMatching, textOf, placeOf }: ListOf,
): Promise<Reply> {
  const frame = { before: '[', after: ']' }
  const shownText = (name: string) => (isShown(name) ? textOf(name) : undefined)
  if (limit === undefined)
    return { status: 200, headers, chunks: streamObjects(context, call.caller, names, frame, shownText) }
  const isCounted = isMatching ? (name: string) => isShown(name) && isMatching(name) : isShown
  const page = await pageOf(context, call, limit, names, isCounted, placeOf)
  const chunks = streamObjects(context, call.caller, namesOf(page.names), frame, shownText)
  return { status: 200, headers: { ...headers, ...page.headers }, chunks }
}

/** How a list of named objects in memory is shown. */
export interface ResourceList<Thing> {
  readonly isShown: (thing: Thing) => boolean
  /** Undefined if the object was deleted meanwhile. */
  readonly textOf: (name: string, thing: Thing) => string | undefined
}

/** A list of named objects in memory: all, or one page. */
export function resourceListReply<Thing>(
  context: RouteContext,
  call: Call<unknown, { readonly limit?: number | undefined; readonly cursor?: string | undefined }>,
  things: ReadonlyMap<string, Thing>,
  { isShown, textOf }: ResourceList<Thing>,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const { limit, cursor } = call.query
  const after = nameOfCursor(cursor)
  // Each object is read when its text is made: it may have changed or been deleted by then.
  const shownThing = (name: string) => {
    const thing = things.get(name)
    return thing !== undefined && isShown(thing) ? thing : undefined
  }
  return listReply(context, call, headers, {
    limit,
    names: namesOf([...things.keys()].filter((name) => name > after).sort()),
    isShown: (name) => shownThing(name) !== undefined,
    textOf: (name) => {
      const thing = things.get(name)
      return thing && textOf(name, thing)
    },
  })
}

/**
 * A position up to which all events are included in the answer. Read it before the objects: a client that resumes from
 * it misses no event. Contract 3.4.
 */
export function streamHeaders({ reader, system }: RouteContext, tenant: string): Record<string, string> {
  return { 'Stream-Epoch': reader.epoch, 'Stream-Offset': String(system.registry.head(tenant).released) }
}

/** A weak entity tag of everything that determines the answer: the position, the caller and the request. */
export function etagOf(context: RouteContext, call: Call): string {
  const { 'Stream-Epoch': epoch, 'Stream-Offset': offset } = streamHeaders(context, call.caller.tenant)
  const { tenant, scope } = call.caller
  const { silentChanges } = context.system.registry.head(tenant)
  const requested = JSON.stringify([tenant, scope.fingerprint, call.target.path, call.target.query, silentChanges])
  const hash = createHash('sha256').update(requested).digest('base64url').slice(0, 16)
  return `W/"${epoch}.${offset}.${hash}"`
}

/** 304 if the client has this version of the answer; otherwise undefined. */
export function notModified(context: RouteContext, call: Call): Reply | undefined {
  const requested = call.header('if-none-match')
  if (requested === '') return undefined
  const etag = etagOf(context, call)
  const isKnown = requested === '*' || requested.split(',').some((known) => known.trim() === etag)
  if (!isKnown) return undefined
  return { status: 304, headers: { ETag: etag, ...streamHeaders(context, call.caller.tenant) } }
}
