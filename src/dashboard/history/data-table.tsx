import { useState } from 'preact/hooks'
import { type Column, Table } from '#dashboard/components/table'
import { dateTimeText } from '#dashboard/components/time'
import type { ChartData } from '#dashboard/history/chart-data'
import type { ChartSeries } from '#dashboard/history/chart-series'
import type { Edges } from '#dashboard/history/span'
import { numberText } from '#dashboard/values/format-value'

export interface DataTableProps {
  readonly series: readonly ChartSeries[]
  readonly labels: readonly string[]
  readonly data: ChartData
  readonly edges: Edges
}

const rowsMax = 100

/** The points of a chart as a table, the newest first. */
export function DataTable({ series, labels, data, edges }: DataTableProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Show as table</summary>
      {isOpen && <Rows {...{ series, labels, data, edges }} />}
    </details>
  )
}

function Rows({ series, labels, data, edges }: DataTableProps) {
  const places = [...data.times.keys()].filter((place) => {
    const at = (data.times[place] ?? 0) * 1_000
    return at >= edges.from && at < edges.to && data.series.some(({ avg }) => avg[place] != null)
  })
  const rows = places.slice(-rowsMax).reverse()
  const columns: readonly Column<number>[] = [
    { title: 'Time', cell: (place) => dateTimeText((data.times[place] ?? 0) * 1_000) },
    ...series.map(({ unit }, index): Column<number> => {
      const label = labels[index] ?? ''
      return {
        title: unit ? `${label}, ${unit}` : label,
        align: 'end',
        cell: (place) => cellText(data.series[index], place),
      }
    }),
  ]
  return (
    <>
      <Table caption="Points of the chart, the newest first" columns={columns} rows={rows} rowKey={(place) => place} />
      {places.length > rows.length && (
        <p class="hint">
          The newest {rows.length} of {places.length} rows. The CSV file has all of them.
        </p>
      )}
    </>
  )
}

/** `21.3 (20.9–21.7)`: the average, minimum and maximum. */
function cellText(columns: ChartData['series'][number] | undefined, place: number): string {
  const [avg, min, max] = [columns?.avg[place], columns?.min[place], columns?.max[place]]
  if (avg == null || min == null || max == null) return ''
  return min === max ? numberText(avg) : `${numberText(avg)} (${numberText(min)}–${numberText(max)})`
}
