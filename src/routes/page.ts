import { cursorOf } from '#api/query-field'
import { checkCurrent, type Names } from '#routes/streamed'
import type { Call } from '#server/call'

/** One page of names, and the way to the next one if there is more. Contract 3.4. */
export interface Page {
  readonly names: readonly string[]
  readonly headers: Record<string, string>
}

const namesAtATime = 512

/** The first `limit` names that may be shown. */
export async function pageOf(
  call: Call,
  limit: number,
  names: Names,
  isShown: (name: string) => boolean,
): Promise<Page> {
  const found: string[] = []
  try {
    for (let page = await names.next(namesAtATime); page.length > 0; page = await names.next(namesAtATime)) {
      checkCurrent(call.caller)
      for (const name of page) {
        if (!isShown(name)) continue
        if (found.length === limit) return { names: found, headers: nextLink(call, found) }
        found.push(name)
      }
    }
  } finally {
    await names.close()
  }
  return { names: found, headers: {} }
}

/** The way to what comes behind those that were found. */
export function nextLink({ target }: Call, found: readonly string[]): Record<string, string> {
  const query = new URLSearchParams(target.query)
  query.set('cursor', cursorOf(found.at(-1) ?? ''))
  return { Link: `<${target.path}?${query}>; rel="next"` }
}
