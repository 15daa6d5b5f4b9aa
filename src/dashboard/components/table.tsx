import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { CallResult } from '#dashboard/components/page'
import type { PagedList } from '#dashboard/components/use-pages'

export interface Column<Row> {
  readonly key: string
  readonly title: ComponentChildren
  readonly cell: (row: Row) => ComponentChildren
  readonly align?: 'start' | 'end' | undefined
  /** Sentences: the column gets a minimum width. */
  readonly isText?: boolean | undefined
  /** Whether this column has the heading of each row; by default the first column has it. */
  readonly isHeading?: boolean | undefined
}

/** The column of the buttons of each row. */
export function actionsColumn<Row>(cell: Column<Row>['cell']): Column<Row> {
  return { key: 'actions', title: <span class="hidden">Actions</span>, cell }
}

export interface TableProps<Row> {
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string | number
  readonly caption: string
  /** Replaces an empty table. */
  readonly empty?: ComponentChildren
  /** A click on a row outside of its links and buttons; the same action must be reachable by keyboard in a cell. */
  readonly onRow?: ((row: Row) => void) | undefined
}

/** A plain table; on narrow screens it scrolls sideways. For thousands of rows: `VirtualList`. */
export function Table<Row>({ columns, rows, rowKey, caption, empty, onRow }: TableProps<Row>) {
  const frame = useRef<HTMLElement>(null)
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>
  const heading = columns.find(({ isHeading }) => isHeading)?.key ?? columns[0]?.key
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    <section ref={frame} class="table-frame" aria-label={caption} tabIndex={0}>
      <table class="table">
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ key, title, align }) => (
              <th key={key} scope="col" class={align}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} class={onRow && 'pressable'} onClick={(event) => isRowClick(event) && onRow?.(row)}>
              {columns.map(({ key, cell, align, isText }) =>
                key === heading ? (
                  <th key={key} scope="row" class={align}>
                    {cell(row)}
                  </th>
                ) : (
                  <td key={key} class={isText ? 'text' : align}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Whether a click is for the row: not for a control in it, and not the end of a text selection. */
export function isRowClick(event: Event): boolean {
  const target = event.target as Element
  return target.closest('a, button, input, select, label, textarea') === null && !getSelection()?.toString()
}

export function PagedTable<Row>({
  paged,
  filter,
  ...table
}: Omit<TableProps<Row>, 'rows'> & {
  readonly paged: PagedList<Row>
  /** Whether a loaded row is shown; by default all. */
  readonly filter?: ((row: Row) => boolean) | undefined
}) {
  const { rows, hasMore, problem, isLoading, loadMore, refresh } = paged
  return (
    <CallResult call={{ value: rows, problem, isLoading, refresh }}>
      {(all) => (
        <>
          <Table {...table} rows={filter ? all.filter(filter) : all} />
          {hasMore && (
            <p>
              <Button onPress={loadMore} isBusy={isLoading}>
                Show more
              </Button>{' '}
              <span class="soft">{all.length} so far</span>
            </p>
          )}
        </>
      )}
    </CallResult>
  )
}
