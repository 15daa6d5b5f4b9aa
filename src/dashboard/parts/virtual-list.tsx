import type { ComponentChildren } from 'preact'
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks'
import { isBare } from '#dashboard/parts/table'

export interface VirtualListProps<Row> {
  readonly rows: readonly Row[]
  /** Pixels; all rows are alike. */
  readonly rowHeight: number
  /** What is in a row; of a grid its cells, each a `gridCell`. */
  readonly render: (row: Row, index: number) => ComponentChildren
  readonly rowKey?: ((row: Row, index: number) => string | number) | undefined
  readonly label: string
  /** By press, or by Enter on the row that the arrow keys have come to. */
  readonly onRow?: ((row: Row) => void) | undefined
  /** Above the rows; it stays while they scroll. Makes a grid of it: one `headRow` of `headCell`s. */
  readonly head?: ComponentChildren
  readonly columns?: number | undefined
}

/** What stands in a grid's head and rows: a row of cells. The grid has the focus, so none of them is a stop of its own. */
export const headRow = { role: 'row', 'aria-rowindex': 1, tabIndex: -1 } as const
export const headCell = { role: 'columnheader', tabIndex: -1 } as const
export const gridCell = { role: 'gridcell', tabIndex: -1 } as const

interface Marked {
  readonly key: string | number | undefined
  /** Where it was when it was marked. */
  readonly place: number
}

const nothingMarked: Marked = { key: undefined, place: -1 }

/** Beyond what is seen, so that a flick of the wheel shows no gap. */
const marginRows = 8

/**
 * As many rows as there are, of which only those in sight are in the page. One stop for the Tab key: arrows, Page, Home
 * and End move a mark through the rows, Enter opens the marked one. The mark stays with its row, wherever that goes.
 */
export function VirtualList<Row>(props: VirtualListProps<Row>) {
  const { rows, rowHeight, render, rowKey, label, onRow, head, columns } = props
  const id = useId()
  const frame = useRef<HTMLDivElement>(null)
  const { first, count } = useWindow(frame, rowHeight)
  const keyOf = (row: Row, index: number) => rowKey?.(row, index) ?? index
  const [marked, setMarked] = useState<Marked>(nothingMarked)
  const from = Math.max(0, Math.min(first, rows.length) - marginRows)
  const shown = rows.slice(from, first + count + marginRows)
  const mark = useMemo(() => placeOf(marked, rows, keyOf), [marked, rows])
  const isGrid = head !== undefined

  const move = (to: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, to))
    setMarked({ key: keyOf(rows[next] as Row, next), place: next })
    scrollTo(frame.current, next, rowHeight)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return
    // Where its row is gone, it is from there that the mark moves on.
    const to = moves[event.key]?.(mark < 0 ? marked.place : mark, rows.length, count - 2)
    const row = rows[mark]
    if (to !== undefined && rows.length > 0) move(to)
    else if (event.key === 'Enter' && row !== undefined) onRow?.(row)
    else return
    event.preventDefault()
  }
  const onClickOf = (row: Row, index: number) => (event: Event) => {
    setMarked({ key: keyOf(row, index), place: index })
    if (isBare(event)) onRow?.(row)
  }

  return (
    <div
      ref={frame}
      class="virtual"
      {...{
        ...(isGrid
          ? { role: 'grid' as const, 'aria-rowcount': rows.length + 1, 'aria-colcount': columns }
          : { role: 'listbox' as const }),
        'aria-label': label,
        'aria-activedescendant': mark >= from && mark < from + shown.length ? `${id}-${mark}` : undefined,
        tabIndex: 0,
        onKeyDown,
      }}
    >
      {isGrid && (
        <div {...groupOf(isGrid)} class="virtual-head">
          {head}
        </div>
      )}
      <div {...groupOf(isGrid)} class="virtual-body" style={{ height: rows.length * rowHeight }}>
        {shown.map((row, place) => {
          const index = from + place
          return (
            <div
              key={rowKey ? rowKey(row, index) : index}
              id={`${id}-${index}`}
              class={`virtual-row ${index === mark ? 'marked' : ''} ${onRow ? 'pressable' : ''}`}
              style={{ height: rowHeight, transform: `translateY(${index * rowHeight}px)` }}
              {...{ ...attributesOf(isGrid, index, rows.length, index === mark), onClick: onClickOf(row, index) }}
            >
              {render(row, index)}
            </div>
          )
        })}
      </div>
    </div>
  )
}

/** Where the marked row is now; -1 where it is gone, or none is marked. */
function placeOf<Row>(
  { key, place }: Marked,
  rows: readonly Row[],
  keyOf: (row: Row, index: number) => string | number,
): number {
  if (key === undefined) return -1
  const row = rows[place]
  if (row !== undefined && keyOf(row, place) === key) return place
  return rows.findIndex((each, index) => keyOf(each, index) === key)
}

/** What stands between the frame and its rows: of a grid a group, of a list nothing that is read out. */
function groupOf(isGrid: boolean) {
  return { role: isGrid ? ('rowgroup' as const) : ('presentation' as const) }
}

/** Which of all rows it is: those that are not in the page can't be counted. The head is the first row of a grid. */
function attributesOf(isGrid: boolean, index: number, count: number, isMarked: boolean) {
  if (isGrid) return { role: 'row' as const, 'aria-rowindex': index + 2 }
  return { role: 'option' as const, 'aria-posinset': index + 1, 'aria-setsize': count, 'aria-selected': isMarked }
}

const moves: Readonly<Record<string, (at: number, rows: number, page: number) => number>> = {
  ArrowDown: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  PageDown: (at, _, page) => at + page,
  PageUp: (at, _, page) => at - page,
  Home: () => 0,
  End: (_, rows) => rows - 1,
}

/** Which rows are in sight; told anew only when it is other ones. */
function useWindow(frame: { readonly current: HTMLDivElement | null }, rowHeight: number) {
  const [sight, setSight] = useState({ first: 0, count: 30 })
  useEffect(() => {
    const element = frame.current
    if (!element) return undefined
    const look = () => {
      const first = Math.floor(element.scrollTop / rowHeight)
      const count = Math.ceil(element.clientHeight / rowHeight) + 1
      setSight((before) => (before.first === first && before.count === count ? before : { first, count }))
    }
    look()
    const size = new ResizeObserver(look)
    size.observe(element)
    element.addEventListener('scroll', look, { passive: true })
    return () => {
      size.disconnect()
      element.removeEventListener('scroll', look)
    }
  }, [rowHeight])
  return sight
}

/** Brings a row into sight, below a head that stays. */
function scrollTo(element: HTMLDivElement | null, index: number, rowHeight: number): void {
  if (!element) return
  const head = element.querySelector('.virtual-head')?.clientHeight ?? 0
  const top = index * rowHeight
  const bottom = top + rowHeight - (element.clientHeight - head)
  if (element.scrollTop > top) element.scrollTop = top
  else if (element.scrollTop < bottom) element.scrollTop = bottom
}
