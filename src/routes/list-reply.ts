import { nameOfCursor } from '#api/query-field'
import type { Call, Reply } from '#http/call'
import type { RouteContext } from '#routes/context'
import { pageOf } from '#routes/page'
import type { TextOrParts } from '#routes/state-text'
import { streamed } from '#routes/streamed'
import { namesOf, type Pages } from '#runtime/listing'

/** A list of things that are found by name: whole, or a page of it. Contract 3.4. */
export interface ListOf {
  readonly limit: number | undefined
  readonly names: Pages
  /** Whether the caller may see it. */
  readonly isShown: (name: string) => boolean
  /** Where not all that he may see is meant: whether it is, now. Only entries of a page are counted by it. */
  readonly isMeant?: ((name: string) => boolean) | undefined
  /** Undefined for what is gone meanwhile, or not meant. */
  readonly textOf: (name: string) => TextOrParts | undefined
}

export async function listReply(
  context: RouteContext,
  call: Call,
  headers: Record<string, string>,
  { limit, names, isShown, isMeant, textOf }: ListOf,
): Promise<Reply> {
  const frame = { before: '[', after: ']' }
  const shownText = (name: string) => (isShown(name) ? textOf(name) : undefined)
  if (limit === undefined)
    return { status: 200, headers, chunks: streamed(context, call.caller, names, frame, shownText) }
  const isCounted = isMeant ? (name: string) => isShown(name) && isMeant(name) : isShown
  const page = await pageOf(context, call, limit, names, isCounted)
  const chunks = streamed(context, call.caller, namesOf(page.names), frame, shownText)
  return { status: 200, headers: { ...headers, ...page.headers }, chunks }
}

/** What is there under names of its own, all at hand. */
export interface Things<Thing> {
  readonly isShown: (thing: Thing) => boolean
  /** Undefined for what is gone meanwhile. */
  readonly textOf: (name: string, thing: Thing) => string | undefined
}

/** A list of them, by name: whole, or a page of it. */
export function thingsReply<Thing>(
  context: RouteContext,
  call: Call<unknown, { readonly limit?: number | undefined; readonly cursor?: string | undefined }>,
  things: ReadonlyMap<string, Thing>,
  { isShown, textOf }: Things<Thing>,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const { limit, cursor } = call.query
  const after = nameOfCursor(cursor)
  // Each is looked at when its turn comes: it may be another by then, or gone.
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
