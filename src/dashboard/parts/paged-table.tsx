import type { ComponentChildren } from 'preact'
import { Button } from '#dashboard/parts/button'
import { Answered } from '#dashboard/parts/page'
import { Table, type TableProps } from '#dashboard/parts/table'
import type { Paged } from '#dashboard/parts/use-pages'

/** A table of what comes page by page, with the way to the next page. */
export function PagedTable<Row>({
  paged,
  shown,
  children,
  ...table
}: Omit<TableProps<Row>, 'rows'> & {
  readonly paged: Paged<Row>
  /** Of the rows that came, those to show; all, unless said. */
  readonly shown?: ((rows: readonly Row[]) => readonly Row[]) | undefined
  /** Below the table. */
  readonly children?: ComponentChildren
}) {
  const { rows, hasMore, problem, isLoading, more, again } = paged
  return (
    <Answered called={{ value: rows, problem, isLoading, again }}>
      {(all) => (
        <>
          <Table {...table} rows={shown ? shown(all) : all} />
          {hasMore && (
            <p>
              <Button onPress={more} isBusy={isLoading}>
                Show more
              </Button>{' '}
              <span class="soft">{all.length} so far</span>
            </p>
          )}
          {children}
        </>
      )}
    </Answered>
  )
}
