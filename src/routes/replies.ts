import { createHash } from 'node:crypto'
import { cursorOf, type ListQuery, nameOfCursor, type TenantQuery } from '#api/fields'
import type { Call, Reply } from '#http/call'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'
import type { RouteContext } from '#routes/context'
import type { TextOrParts } from '#routes/state-text'
import { checkCurrent, ReadSlices } from '#runtime/slices'
import { namesOf, type Pages, pagesIn } from '#runtime/storage'

/** A list of objects by name: all, or one page. Contract 3.4. */
export interface ListOf {
  readonly headers?: Record<string, string>
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
  call: Call<unknown, ListQuery & TenantQuery>,
  { headers = {}, names, isShown, isMatching, textOf, placeOf }: ListOf,
): Promise<Reply> {
  const frame = { before: '[', after: ']' }
  const shownText = (name: string) => (isShown(name) ? textOf(name) : undefined)
  const isCounted = isMatching ? (name: string) => isShown(name) && isMatching(name) : isShown
  const page = await pageOf(context, call, names, isCounted, placeOf)
  const chunks = streamObjects(context, call.caller, page.names, frame, shownText)
  return { status: 200, headers: { ...headers, ...page.headers }, chunks }
}

/** How a list of named objects in memory is shown. */
export interface ResourceList<Thing> extends Pick<ListOf, 'headers'> {
  readonly isShown: (thing: Thing, name: string) => boolean
  /** Undefined if the object was deleted meanwhile. */
  readonly textOf: (name: string, thing: Thing) => string | undefined
}

/** A list of named objects in memory: all, or one page. */
export function resourceListReply<Thing>(
  context: RouteContext,
  call: Call<unknown, ListQuery>,
  things: ReadonlyMap<string, Thing>,
  { isShown, textOf, ...list }: ResourceList<Thing>,
): Promise<Reply> {
  const after = nameOfCursor(call.query.cursor)
  return listReply(context, call, {
    ...list,
    names: namesOf([...things.keys()].filter((name) => name > after).sort()),
    // Each object is looked up again: it may have changed or been deleted since the names were listed.
    isShown: (name) => {
      const thing = things.get(name)
      return thing !== undefined && isShown(thing, name)
    },
    textOf: (name) => {
      const thing = things.get(name)
      return thing && textOf(name, thing)
    },
  })
}

const namesAtATime = 512

/**
 * One page of the names that match, and the header with the link to the next page if there is one; without a limit, all
 * names. Searched in slices, because very few of many names may match. Contract 3.4.
 */
export async function pageOf(
  { world }: RouteContext,
  call: Call<unknown, Pick<ListQuery, 'limit'>>,
  names: Pages,
  isCounted: (name: string) => boolean,
  placeOf = (name: string) => name,
): Promise<{ readonly names: Pages; readonly headers: Record<string, string> }> {
  const { limit } = call.query
  if (limit === undefined) return { names, headers: {} }
  const found: string[] = []
  const slices = new ReadSlices(world, call.caller)
  for await (const page of pagesIn(names, namesAtATime)) {
    await slices.next()
    for (const name of page) {
      if (isCounted(name)) {
        if (found.length === limit)
          return { names: namesOf(found), headers: nextLink(call, placeOf(found.at(-1) ?? '')) }
        found.push(name)
      }
      if (slices.isOver) await slices.next()
    }
  }
  return { names: namesOf(found), headers: {} }
}

/** The link to the names after this place. */
export function nextLink({ target }: Call, place: string): Record<string, string> {
  const query = new URLSearchParams(target.query)
  query.set('cursor', cursorOf(place))
  return { Link: `<${target.path}?${query}>; rel="next"` }
}

/**
 * A position up to which all events are included in the answer. Read it before the objects: a client that resumes from
 * it misses no event. Contract 3.4.
 */
export function streamHeaders({ events: { reader }, system }: RouteContext, tenant: string): Record<string, string> {
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

/** A piece is sent when its text has this length. */
const pieceCharacters = 64 * 1024

/** Names that are listed before a slice of reading begins. */
const readNamesAtATime = 256

/**
 * Streams a long answer in pieces. Each object is read just before its piece is sent. The last piece waits until all
 * state that was read is stored. No piece is sent after the caller's session ended or the caller's rights changed.
 * See ARCHITECTURE.md, "Reading all devices".
 */
export async function* streamObjects(
  { world, system }: RouteContext,
  caller: Caller,
  names: Pages,
  frame: { readonly before: string; readonly after: string; readonly errorIfEmpty?: () => Error },
  textOf: (name: string) => TextOrParts | undefined,
): AsyncGenerator<string> {
  const { closedCount } = system.gate
  let text = frame.before
  let isFirst = true
  const slices = new ReadSlices(world, caller)
  try {
    for (let page = await names.next(readNamesAtATime); page.length > 0; page = await names.next(readNamesAtATime)) {
      await slices.next()
      for (const name of page) {
        const item = textOf(name)
        if (item !== undefined) {
          if (!isFirst) text += ','
          isFirst = false
          if (typeof item === 'string') text += item
          else {
            for (const part of item) {
              text += part
              if (text.length < pieceCharacters && !slices.isOver) continue
              yield text
              text = ''
              await slices.next()
            }
          }
        }
        if (text.length < pieceCharacters && !slices.isOver) continue
        if (!isFirst) {
          yield text
          text = ''
        }
        await slices.next()
      }
    }
    if (isFirst && frame.errorIfEmpty) throw frame.errorIfEmpty()
    await system.gate.whenStored(closedCount)
    checkCurrent(caller)
    yield text + frame.after
  } finally {
    await names.close()
  }
}

/** One object, streamed if its text is made in parts. */
export function partsReply(context: RouteContext, { caller }: Call, text: TextOrParts): Reply | Promise<Reply> {
  if (typeof text === 'string') return textReply(context, text)
  const chunks = streamObjects(context, caller, namesOf(['']), { before: '', after: '' }, () => text)
  return { status: 200, chunks }
}

/** Answers with JSON text once the state from which it was just made is stored. */
export async function textReply(
  { system }: RouteContext,
  text: string,
  headers: Reply['headers'] = {},
): Promise<Reply> {
  await system.gate.whenStored()
  return { status: 200, headers, text }
}

/** Whether `If-Match` or `If-None-Match` contains this tag, or is `*`. Weak comparison: RFC 9110 §8.8.3.2. */
export function matchesEtag(header: string, etag: string): boolean {
  return header === '*' || header.split(',').some((known) => known.trim().replace(/^W\//, '') === etag)
}

/** Entity tags of edited objects: conditional reads and changes. RFC 9110 §8.8.3, §13.1 */

type Asked = Pick<Call, 'header'>

/** 132 bits, so that no two texts with the same tag can be found. */
const tagCharacters = 22

/** The tag of an object's text, independent of the caller and the time. */
export function tagOf(text: string): string {
  return `"${createHash('sha256').update(text).digest('base64url').slice(0, tagCharacters)}"`
}

/** A single object; 304 if the client has the same version. */
export async function resourceReply(context: RouteContext, call: Asked, text: string): Promise<Reply> {
  const ETag = tagOf(text)
  const reply = await textReply(context, text, { ETag })
  return matchesEtag(call.header('if-none-match'), ETag) ? { status: 304, headers: { ETag } } : reply
}

/**
 * Checks `If-Match` and `If-None-Match` of a change. Call it within `askAtOnce`: no other change may come between the
 * check and the turn.
 *
 * @param textNow returns the current text of the object; undefined if there is no object. Called only if the request
 * has one of these headers
 * @throws Problem `changed_meanwhile`
 */
export function mustMatch(call: Asked, textNow: () => string | undefined): void {
  const [wanted, unwanted] = [call.header('if-match'), call.header('if-none-match')]
  if (wanted === '' && unwanted === '') return
  const text = textNow()
  const isAny = (tags: string) => text !== undefined && matchesEtag(withoutProxyChanges(tags), tagOf(text))
  if ((wanted !== '' && !isAny(wanted)) || (unwanted !== '' && isAny(unwanted))) throw new Problem('changed_meanwhile')
}

/** Proxies that compress answers change the tags: they add `W/`, which is ignored anyway, or a suffix. */
function withoutProxyChanges(tags: string): string {
  return tags.replace(/-(?:gzip|br|zstd|deflate)"/g, '"')
}
