import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

export interface PagedList<Row> {
  /** Undefined until the first page arrives. */
  readonly rows: readonly Row[] | undefined
  readonly hasMore: boolean
  readonly problem: unknown
  readonly isLoading: boolean
  readonly loadMore: () => void
  /** The current rows stay until the first page arrives. */
  readonly refresh: () => void
}

const initial = { rows: undefined, hasMore: false, problem: undefined, isLoading: true }

/**
 * Loads the first page when the component appears and when `deps` change, and other pages on demand. A page with fewer
 * rows than `pageSize` is the last one.
 */
export function usePagedList<Row>(
  pages: () => AsyncIterable<readonly Row[]>,
  pageSize: number,
  deps: readonly unknown[],
): PagedList<Row> {
  const [list, setList] = useState<Omit<PagedList<Row>, 'loadMore' | 'refresh'>>(initial)
  const current = useRef<AsyncIterator<readonly Row[]> | undefined>(undefined)

  const fetchPage = useCallback((iterator: AsyncIterator<readonly Row[]>, isFirst: boolean) => {
    setList((before) => ({ ...before, isLoading: true, problem: undefined }))
    iterator.next().then(
      ({ done, value }) => {
        if (current.current !== iterator) return
        const page = done ? [] : value
        setList(({ rows = [] }) => ({
          rows: isFirst ? page : [...rows, ...page],
          hasMore: !done && page.length >= pageSize,
          problem: undefined,
          isLoading: false,
        }))
      },
      (problem) => {
        // An iterator ends when it fails, so more rows need a refresh.
        if (current.current === iterator)
          setList((before) => ({ ...before, hasMore: false, problem, isLoading: false }))
      },
    )
  }, [])

  // Stops loading pages ahead, before a refresh and when the list disappears.
  const stop = useCallback(() => {
    void current.current?.return?.()
    current.current = undefined
  }, [])

  const refresh = useCallback(() => {
    stop()
    const iterator = pages()[Symbol.asyncIterator]()
    current.current = iterator
    fetchPage(iterator, true)
  }, deps)

  useEffect(() => {
    setList(initial)
    refresh()
    return stop
  }, [refresh])

  const loadMore = useCallback(() => {
    if (current.current) fetchPage(current.current, false)
  }, [])
  return { ...list, loadMore, refresh }
}
