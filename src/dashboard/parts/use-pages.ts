import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

/** The loaded pages of a list. */
export interface Paged<Row> {
  /** Undefined until the first page arrives. */
  readonly rows: readonly Row[] | undefined
  readonly hasMore: boolean
  readonly problem: unknown
  readonly isLoading: boolean
  /** Loads the next page. */
  readonly more: () => void
  /** Reloads; the current rows stay until the first page arrives. */
  readonly again: () => void
}

const unread = { rows: undefined, hasMore: false, problem: undefined, isLoading: true }

/**
 * Loads the first page when the component appears and when `deps` change, and other pages on demand. A page with fewer
 * rows than `pageSize` is the last one.
 */
export function usePages<Row>(
  pages: () => AsyncIterable<readonly Row[]>,
  pageSize: number,
  deps: readonly unknown[],
): Paged<Row> {
  const [shown, setShown] = useState<Omit<Paged<Row>, 'more' | 'again'>>(unread)
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
          problem: undefined,
          isLoading: false,
        }))
      },
      (problem) => {
        // An iterator ends when it fails, so more rows need a reload.
        if (iterator.current === mine) setShown((before) => ({ ...before, hasMore: false, problem, isLoading: false }))
      },
    )
  }, [])

  // Pages are loaded ahead: stop that when the list disappears.
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
    setShown(unread)
    again()
    return leave
  }, [again])

  const more = useCallback(() => {
    if (iterator.current) fetchPage(iterator.current, false)
  }, [])
  return { ...shown, more, again }
}
