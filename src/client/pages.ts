import { ConnectionLost, Problem } from '#client/problem'
import { nextOf } from '#client/request-of'
import type { RawAnswer, Request } from '#client/transport'

/** One page of a list. */
export interface Paged {
  readonly items: readonly unknown[]
  readonly headers: Headers
  /** It is as it was when the `ETag` was given; only of a first one, and then the last. */
  readonly isUnchanged: boolean
}

/**
 * Follows `Link: rel="next"`. While one page is looked at the next is on its way. Contract 3.4
 *
 * @param limitOf how many entries pages are to have from now on; undefined: as many as the first
 *
 * @throws Problem, ConnectionLost
 */
export async function* pagesOf(
  first: Request,
  ask: (request: Request) => Promise<RawAnswer>,
  limitOf: () => number | undefined = () => undefined,
): AsyncGenerator<Paged> {
  const gone = new AbortController()
  const follow = () => gone.abort(first.signal?.reason)
  if (first.signal?.aborted) follow()
  else first.signal?.addEventListener('abort', follow)
  const { signal } = gone
  const { silenceMs } = first
  let coming: Promise<RawAnswer> | undefined = ask({ ...first, signal })
  try {
    while (coming !== undefined) {
      const answer: RawAnswer = await coming
      const { status, headers, body } = answer
      const isUnchanged = status === 304
      if (!isUnchanged && status !== 200) throw new Problem(status, body, headers)
      // Whatever stands in between, such as a page that wants somebody to sign in to a network.
      if (!isUnchanged && !Array.isArray(body)) throw new ConnectionLost(`${first.path}: no list`)
      const next = isUnchanged ? undefined : nextOf(headers)
      coming =
        next === undefined ? undefined : ask({ method: 'GET', path: withLimit(next, limitOf()), signal, silenceMs })
      // Nobody may be there any more to hear that it failed.
      coming?.catch(() => {})
      yield { items: isUnchanged ? [] : (body as readonly unknown[]), headers, isUnchanged }
    }
  } finally {
    first.signal?.removeEventListener('abort', follow)
    gone.abort()
  }
}

function withLimit(path: string, limit: number | undefined): string {
  return limit === undefined ? path : path.replace(/([?&]limit=)\d+/, `$1${limit}`)
}
