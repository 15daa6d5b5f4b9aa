import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { CallResult } from '#dashboard/components/page'
import type { CallState, PagedList } from '#dashboard/components/use-call'

export interface Column<Row> {
  readonly title: ComponentChildren
  readonly cell: (row: Row) => ComponentChildren
  readonly align?: 'end' | undefined
  /** Whether the cells contain sentences. The column then has a minimum width. */
  readonly isText?: boolean | undefined
  /** Whether this column has the heading of each row; by default the first column has it. */
  readonly isHeading?: boolean | undefined
}

export function actionsColumn<Row>(cell: Column<Row>['cell'], title = 'Actions'): Column<Row> {
  return { title: <span class="hidden">{title}</span>, cell }
}

export interface TableFrameProps {
  readonly caption: string
  readonly class?: string | undefined
  readonly children: ComponentChildren
}

/** A table with an accessible name; on narrow screens it scrolls sideways. */
export function TableFrame({ caption, class: name = '', children }: TableFrameProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    <section class="table-frame" aria-label={caption} tabIndex={0}>
      <table class={`table ${name}`}>
        <caption class="hidden">{caption}</caption>
        {children}
      </table>
    </section>
  )
}

export interface TableProps<Row> extends Omit<TableFrameProps, 'children'> {
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string | number
  /** Replaces an empty table. */
  readonly empty?: ComponentChildren
  /** A click on a row outside of its links and buttons; the same action must be reachable by keyboard in a cell. */
  readonly onRow?: ((row: Row) => void) | undefined
  /** The number of rows that are shown at first, and added on request; by default all are shown. */
  readonly pageRows?: number
}

/** A plain table. For thousands of rows: `VirtualList`. */
export function Table<Row>(props: TableProps<Row>) {
  const { columns, rows, rowKey, caption, class: name, empty, onRow, pageRows = Number.POSITIVE_INFINITY } = props
  const [shown, setShown] = useState(pageRows)
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>
  const heading = columns.find(({ isHeading }) => isHeading) ?? columns[0]
  return (
    <>
      <TableFrame caption={caption} class={name}>
        <thead>
          <tr>
            {columns.map(({ title, align }, place) => (
              <th key={place} scope="col" class={align}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, shown).map((row) => (
            <tr key={rowKey(row)} class={onRow && 'pressable'} onClick={(event) => isRowClick(event) && onRow?.(row)}>
              {columns.map((column, place) =>
                column === heading ? (
                  <th key={place} scope="row" class={column.align}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td key={place} class={column.isText ? 'text' : column.align}>
                    {column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </TableFrame>
      {rows.length > shown && (
        <div>
          <Button onPress={() => setShown(shown + pageRows)}>Show more of {rows.length}</Button>
        </div>
      )}
    </>
  )
}

/** Whether a click is for the row: not for a control in it, and not the end of a text selection. */
export function isRowClick(event: Event): boolean {
  const target = event.target as Element
  return target.closest('a, button, input, select, label, textarea') === null && !getSelection()?.toString()
}

export interface CallTableProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  readonly call: CallState<readonly Row[]>
}

/** The rows of a call's answer. */
export function CallTable<Row>({ call, ...table }: CallTableProps<Row>) {
  return <CallResult call={call}>{(rows) => <Table {...table} rows={rows} />}</CallResult>
}

export interface PagedTableProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  readonly paged: PagedList<Row>
  /** Whether a loaded row is shown; by default all. */
  readonly filter?: ((row: Row) => boolean) | undefined
}

export function PagedTable<Row>({ paged, filter, ...table }: PagedTableProps<Row>) {
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
