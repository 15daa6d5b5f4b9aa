import { createHash } from 'node:crypto'
import type { Call, Reply } from '#http/call'
import { Problem } from '#model/problem'
import type { RouteContext } from '#routes/context'
import { textReply } from '#routes/list-reply'

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
