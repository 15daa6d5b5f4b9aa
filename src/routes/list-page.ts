import { cursorOf } from '#api/fields'
import type { Call } from '#http/call'
import type { RouteContext } from '#routes/context'
import { ReadSlices } from '#routes/read-slices'
import { type Pages, pagesIn } from '#runtime/storage'

/** One page of names, and the header with the link to the next page if there is one. Contract 3.4. */
export interface Page {
  readonly names: readonly string[]
  readonly headers: Record<string, string>
}

const namesAtATime = 512

/** The first `limit` names that match. Searched in slices, because very few of many names may match. */
export async function pageOf(
  { world }: RouteContext,
  call: Call,
  limit: number,
  names: Pages,
  isCounted: (name: string) => boolean,
  placeOf = (name: string) => name,
): Promise<Page> {
  const found: string[] = []
  const slices = new ReadSlices(world, call.caller)
  for await (const page of pagesIn(names, namesAtATime)) {
    await slices.next()
    for (const name of page) {
      if (isCounted(name)) {
        if (found.length === limit) return { names: found, headers: nextLink(call, placeOf(found.at(-1) ?? '')) }
        found.push(name)
      }
      if (slices.isOver) await slices.next()
    }
  }
  return { names: found, headers: {} }
}

/** The link to the names after this place. */
export function nextLink({ target }: Call, place: string): Record<string, string> {
  const query = new URLSearchParams(target.query)
  query.set('cursor', cursorOf(place))
  return { Link: `<${target.path}?${query}>; rel="next"` }
}
