import { useEffect, useRef } from 'preact/hooks'
import { type CallState, useCall } from '#dashboard/components/use-call'

/** A refresh keeps the current rows until the first page arrives. */
export interface PagedList<Row> extends Omit<CallState<unknown>, 'value'> {
  /** Undefined until the first page arrives. */
  readonly rows: readonly Row[] | undefined
  readonly hasMore: boolean
  readonly loadMore: () => void
}

/**
 * Loads the first page when the component appears and when `deps` change, and other pages on demand. A page with fewer
 * rows than `pageSize` is the last one.
 */
export function usePagedList<Row>(
  pages: () => AsyncIterable<readonly Row[]>,
  pageSize: number,
  deps: readonly unknown[],
): PagedList<Row> {
  const iterator = useRef<AsyncIterator<readonly Row[]> | undefined>(undefined)
  /** The rows before the page that is loaded next. Undefined: it is the first page. */
  const before = useRef<readonly Row[] | undefined>(undefined)
  // Stops loading pages ahead, before a refresh and when the list disappears.
  const stop = () => void iterator.current?.return?.()
  const { value, ...call } = useCall(async () => {
    const rows = before.current
    before.current = undefined
    if (!rows) stop()
    const source = (rows && iterator.current) ?? pages()[Symbol.asyncIterator]()
    iterator.current = source
    const { done, value } = await source.next()
    const page = done ? [] : value
    return { rows: [...(rows ?? []), ...page], hasMore: !done && page.length >= pageSize }
  }, deps)
  useEffect(() => stop, [])
  const loadMore = () => {
    before.current = value?.rows
    call.refresh()
  }
  // An iterator ends when it fails, so more rows need a refresh.
  const hasMore = call.problem === undefined && value?.hasMore === true
  return { ...call, rows: value?.rows, hasMore, loadMore }
}
