import type { ComponentChildren } from 'preact'
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks'
import { isRowClick } from '#dashboard/components/table'

export interface VirtualListProps<Row> {
  readonly rows: readonly Row[]
  /** Pixels; all rows have the same height. */
  readonly rowHeight: number
  /** The content of a row; in a grid its cells, each a `gridCell`. */
  readonly render: (row: Row, index: number) => ComponentChildren
  readonly rowKey: (row: Row) => string
  readonly label: string
  /** Called after a click on a row, or Enter on the marked row. */
  readonly onRow?: ((row: Row) => void) | undefined
  /**
   * If present, rows can be selected, also with Space. With Shift, all rows from the last selected row are selected.
   */
  readonly selected?: ReadonlySet<Row> | undefined
  readonly onSelect?: ((row: Row, isRange: boolean) => void) | undefined
  /** A fixed header above the rows. Makes the list a grid: one `headRow` of `headCell`s. */
  readonly head?: ComponentChildren
  readonly columns?: number | undefined
  /** Called with the rendered rows, a few more than the visible rows, when they change. */
  readonly onShown?: ((rows: readonly Row[]) => void) | undefined
}

/** ARIA attributes of a grid: a row of cells. Only the grid has the focus, so cells are not in the tab order. */
export const headRow = { role: 'row', 'aria-rowindex': 1, tabIndex: -1 } as const
export const headCell = { role: 'columnheader', tabIndex: -1 } as const
export const gridCell = { role: 'gridcell', tabIndex: -1 } as const

interface Marked {
  readonly key: string | undefined
  /** The index of the row when it was marked. */
  readonly place: number
}

const nothingMarked: Marked = { key: undefined, place: -1 }

/** The number of rendered rows beyond each end of the visible rows, so that fast scrolling shows no gap. */
const marginRows = 8

/**
 * A list of any length that renders only visible rows. One stop in the tab order: arrows, Page, Home and End move a
 * mark, Enter opens the marked row. The mark follows its row when the row moves.
 */
export function VirtualList<Row>(props: VirtualListProps<Row>) {
  const { rows, rowHeight, render, rowKey, label, onRow, head, columns, onShown, selected, onSelect } = props
  const id = useId()
  const frame = useRef<HTMLDivElement>(null)
  const { first, count } = useWindow(frame, rowHeight)
  const [marked, setMarked] = useState<Marked>(nothingMarked)
  const from = Math.max(0, Math.min(first, rows.length) - marginRows)
  const shown = rows.slice(from, first + count + marginRows)
  useEffect(() => onShown?.(shown), [rows, from, shown.length])
  const mark = useMemo(() => placeOf(marked, rows, rowKey), [marked, rows])
  const isGrid = head !== undefined
  // While the parent is unchanged, scrolling renders only rows that were not there before.
  const contents = useRef({ render, of: new Map<Row, ComponentChildren>() })
  const known = contents.current.render === render ? contents.current.of : undefined
  const of = new Map(shown.map((row, place) => [row, known?.get(row) ?? render(row, from + place)]))
  contents.current = { render, of }

  const move = (to: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, to))
    setMarked({ key: rowKey(rows[next] as Row), place: next })
    scrollTo(frame.current, next, rowHeight)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return
    // If the marked row is gone, the mark continues from its last index.
    const to = moves[event.key]?.(mark < 0 ? marked.place : mark, rows.length, count - 2)
    const row = rows[mark]
    if (to !== undefined && rows.length > 0) move(to)
    else if (event.key === 'Enter' && row !== undefined) onRow?.(row)
    else if (event.key === ' ' && row !== undefined && onSelect) onSelect(row, event.shiftKey)
    else return
    event.preventDefault()
  }
  const onClickOf = (row: Row, index: number) => (event: Event) => {
    setMarked({ key: rowKey(row), place: index })
    if (isRowClick(event)) onRow?.(row)
  }

  return (
    <div
      ref={frame}
      class="virtual"
      {...(isGrid
        ? { role: 'grid' as const, 'aria-rowcount': rows.length + 1, 'aria-colcount': columns }
        : { role: 'listbox' as const })}
      {...{
        'aria-multiselectable': onSelect && true,
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
              key={rowKey(row)}
              id={`${id}-${index}`}
              class={`virtual-row ${index === mark ? 'marked' : ''} ${onRow ? 'pressable' : ''}`}
              style={{ height: rowHeight, transform: `translateY(${index * rowHeight}px)` }}
              {...{
                ...attributesOf(isGrid, index, rows.length, isGrid ? onSelect && selected?.has(row) : index === mark),
                onClick: onClickOf(row, index),
              }}
            >
              {of.get(row)}
            </div>
          )
        })}
      </div>
    </div>
  )
}

function placeOf<Row>({ key, place }: Marked, rows: readonly Row[], keyOf: (row: Row) => string): number {
  if (key === undefined) return -1
  const row = rows[place]
  return row !== undefined && keyOf(row) === key ? place : rows.findIndex((each) => keyOf(each) === key)
}

/** The element between the frame and its rows: a group in a grid, without a role in a list. */
function groupOf(isGrid: boolean) {
  return { role: isGrid ? ('rowgroup' as const) : ('presentation' as const) }
}

/** The index in the whole list, because not all rows are in the page. The header is the first row of a grid. */
function attributesOf(isGrid: boolean, index: number, count: number, isSelected: boolean | undefined) {
  if (isGrid) return { role: 'row' as const, 'aria-rowindex': index + 2, 'aria-selected': isSelected }
  return { role: 'option' as const, 'aria-posinset': index + 1, 'aria-setsize': count, 'aria-selected': isSelected }
}

const moves: Readonly<Record<string, (at: number, rows: number, page: number) => number>> = {
  ArrowDown: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  PageDown: (at, _, page) => at + page,
  PageUp: (at, _, page) => at - page,
  Home: () => 0,
  End: (_, rows) => rows - 1,
}

function useWindow(frame: { readonly current: HTMLDivElement | null }, rowHeight: number) {
  const [range, setRange] = useState({ first: 0, count: 30 })
  useEffect(() => {
    const element = frame.current
    if (!element) return undefined
    const measure = () => {
      const first = Math.floor(element.scrollTop / rowHeight)
      const count = Math.ceil(element.clientHeight / rowHeight) + 1
      setRange((before) => (before.first === first && before.count === count ? before : { first, count }))
    }
    measure()
    const size = new ResizeObserver(measure)
    size.observe(element)
    element.addEventListener('scroll', measure, { passive: true })
    return () => {
      size.disconnect()
      element.removeEventListener('scroll', measure)
    }
  }, [rowHeight])
  return range
}

/** Scrolls a row into view, below the fixed header. */
function scrollTo(element: HTMLDivElement | null, index: number, rowHeight: number): void {
  if (!element) return
  const head = element.querySelector('.virtual-head')?.clientHeight ?? 0
  const top = index * rowHeight
  const bottom = top + rowHeight - (element.clientHeight - head)
  if (element.scrollTop > top) element.scrollTop = top
  else if (element.scrollTop < bottom) element.scrollTop = bottom
}
