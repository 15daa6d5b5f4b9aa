import type { ComponentChildren } from 'preact'
import { Link, navigateTo } from '#dashboard/components/link'
import { CallResult, Empty, Page, Section } from '#dashboard/components/page'
import { type Column, Table } from '#dashboard/components/table'
import type { CallState } from '#dashboard/components/use-call'
import { countText } from '#dashboard/values/format-value'
import '#dashboard/pages/functions/functions.css'

const paths = { Functions: '/functions', Templates: '/functions/templates', Groups: '/functions/groups' } as const

interface ListPageProps<Row> {
  readonly title: keyof typeof paths
  readonly list: CallState<readonly Row[]>
  readonly columns: readonly Column<Row>[]
  readonly pathOf: (row: Row) => string
  /** Explains an empty list. */
  readonly empty: ComponentChildren
  /** Absent: without a button for a new entry. */
  readonly mayCreate?: boolean
  /** Above the list. */
  readonly children?: ComponentChildren
}

/** One of three related lists: functions, templates and groups. */
export function ListPage<Row extends { readonly name: string }>(props: ListPageProps<Row>) {
  const { title, list, columns, pathOf, empty, mayCreate, children } = props
  const kind = title.toLowerCase().replace(/s$/, '')
  const newEntry = (
    <Link to={`${paths[title]}/new`} class="button primary">
      New {kind}
    </Link>
  )
  return (
    <Page title={title} actions={mayCreate && newEntry}>
      <nav class="lists" aria-label="Functions, templates and groups">
        {Object.entries(paths).map(([name, path]) => (
          <a key={name} href={`#${path}`} aria-current={name === title ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      {children}
      <CallResult call={list}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title={`No ${title.toLowerCase()}`}>{empty}</Empty>
          ) : (
            <Section title={countText(rows.length, kind)}>
              <Table
                caption={title}
                columns={columns}
                rows={rows.toSorted((one, other) => one.name.localeCompare(other.name))}
                rowKey={pathOf}
                onRow={(row) => navigateTo(pathOf(row))}
              />
            </Section>
          )
        }
      </CallResult>
    </Page>
  )
}
