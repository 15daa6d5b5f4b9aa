import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

/** A list that comes page by page, as far as it was asked for. */
export interface Paged<Row> {
  /** Undefined until the first page is there. */
  readonly rows: readonly Row[] | undefined
  readonly hasMore: boolean
  readonly problem: unknown
  readonly isLoading: boolean
  /** Fetches the next page. */
  readonly more: () => void
  /** Begins anew; what is shown stays until the first page is there. */
  readonly again: () => void
}

interface Shown<Row> {
  readonly rows?: readonly Row[] | undefined
  readonly hasMore: boolean
  readonly problem?: unknown
  readonly isLoading: boolean
}

/**
 * Fetches the first page when the component appears and whenever one of `deps` changes, the others when they are asked for.
 * A page that is not full, `pageSize`, is the last one.
 */
export function usePages<Row>(
  pages: () => AsyncIterable<readonly Row[]>,
  pageSize: number,
  deps: readonly unknown[],
): Paged<Row> {
  const [shown, setShown] = useState<Shown<Row>>({ hasMore: false, isLoading: true })
  const iterator = useRef<AsyncIterator<readonly Row[]> | undefined>(undefined)

  const fetchPage = useCallback((mine: AsyncIterator<readonly Row[]>, isFirst: boolean) => {
    setShown((before) => ({ ...before, isLoading: true, problem: undefined }))
    mine.next().then(
      ({ done, value }) => {
        if (iterator.current !== mine) return
        const page = done ? [] : value
        setShown((before) => ({
          rows: isFirst ? page : [...(before.rows ?? []), ...page],
          hasMore: !done && page.length >= pageSize,
          isLoading: false,
        }))
      },
      (problem) => {
        // An iterator that failed has ended: whoever wants more begins anew.
        if (iterator.current === mine) setShown((before) => ({ ...before, hasMore: false, problem, isLoading: false }))
      },
    )
  }, [])

  // Pages are fetched ahead: of a list that nobody looks at any more none is wanted.
  const leave = useCallback(() => {
    void iterator.current?.return?.()
    iterator.current = undefined
  }, [])

  const again = useCallback(() => {
    leave()
    const mine = pages()[Symbol.asyncIterator]()
    iterator.current = mine
    fetchPage(mine, true)
  }, deps)

  useEffect(() => {
    setShown({ hasMore: false, isLoading: true })
    again()
    return leave
  }, [again])

  const more = useCallback(() => {
    if (iterator.current) fetchPage(iterator.current, false)
  }, [])
  return { rows: shown.rows, hasMore: shown.hasMore, problem: shown.problem, isLoading: shown.isLoading, more, again }
}
