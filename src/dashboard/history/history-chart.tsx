import { useMemo, useState } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { DialogButton } from '#dashboard/components/dialog'
import { Failure, Loading } from '#dashboard/components/page'
import { problemText } from '#dashboard/components/problem-text'
import { actionsColumn, type Column, Table } from '#dashboard/components/table'
import { clock, dateTimeText } from '#dashboard/components/time'
import { useObservable } from '#dashboard/components/use-observable'
import { CompareForm, SpanButtons } from '#dashboard/history/chart-controls'
import { type ChartData, chartData, joinedGaps, type Summary, summaryOf } from '#dashboard/history/chart-data'
import { type ChartSeries, seriesByService, seriesKey, seriesLabels, seriesMax } from '#dashboard/history/chart-series'
import { Plot, type Threshold } from '#dashboard/history/plot'
import { type Edges, edgesOf, fixedSpan, type Span } from '#dashboard/history/span'
import { type Histories, isBehind, isHistoryOff, useHistories } from '#dashboard/history/use-histories'
import { readPreference, storePreference } from '#dashboard/preferences'
import { client } from '#dashboard/session'
import { countText, exactDuration, numberText, withUnit } from '#dashboard/values/format-value'
import '#dashboard/history/history.css'

export interface HistoryChartProps {
  /** The initial series; the user may add others. */
  readonly series: readonly ChartSeries[]
  readonly thresholds?: readonly Threshold[] | undefined
}

const rangeKey = 'chart-range'
const defaultMs = 86_400_000

function storedSpan(): Span {
  return { lastMs: Number(readPreference(rangeKey)) || defaultMs }
}

/** Properties over time: a line of averages in a band from minimum to maximum. */
export default function HistoryChart({ series: first, thresholds = [] }: HistoryChartProps) {
  const [added, setAdded] = useState<readonly ChartSeries[]>([])
  const [removed, setRemoved] = useState<ReadonlySet<string>>(new Set())
  const series = [...first, ...added].filter((each) => !removed.has(seriesKey(each)))
  const [span, setSpan] = useState(storedSpan)
  /** The spans that Back returns to, in the order in which they were shown. */
  const [earlier, setEarlier] = useState<readonly Span[]>([])
  const histories = useHistories(series, span)
  const edges = useEdges(span)

  const choose = (next: Span) => {
    if ('lastMs' in next) storePreference(rangeKey, String(next.lastMs))
    setEarlier('lastMs' in next ? [] : [...earlier, span])
    setSpan(next)
  }
  const back = () => {
    const last = earlier.at(-1)
    if (!last) return
    setEarlier(earlier.slice(0, -1))
    setSpan(last)
  }
  // The edges of a drag may lie between two milliseconds, which the server refuses.
  const zoom = (dragged: Edges) => choose(fixedSpan(dragged, client.now()))
  const keys = series.map(seriesKey)
  const add = (more: ChartSeries) => {
    const key = seriesKey(more)
    if (!keys.includes(key)) setAdded([...added.filter((each) => seriesKey(each) !== key), more])
    setRemoved(new Set([...removed].filter((each) => each !== key)))
  }
  return (
    <div class="history">
      <div class="actions">
        <SpanButtons span={span} onChoose={choose} onBack={earlier.length > 0 ? back : undefined} />
        <div class="actions">
          {series.length < seriesMax && (
            <DialogButton button="Compare…" title="Add a property to the chart">
              <CompareForm series={series} onAdd={add} />
            </DialogButton>
          )}
          <Button onPress={() => downloadCsv(series, edges, histories.intervalMs)} isDisabled={!histories.intervalMs}>
            Download CSV
          </Button>
        </div>
      </div>
      {histories.problem === undefined ? (
        <Content
          {...{ series, histories, edges, thresholds, onZoom: zoom, onBack: back }}
          onRemove={(key) => setRemoved(new Set([...removed, key]))}
        />
      ) : (
        <HistoryFailure histories={histories} />
      )}
    </div>
  )
}

/** Saves the points of a chart as a file: a row for each bucket of each series. */
async function downloadCsv(
  series: readonly ChartSeries[],
  { from, to }: Edges,
  intervalMs: number | undefined,
): Promise<void> {
  const texts: string[] = []
  for (const group of seriesByService(series)) {
    const { deviceIdentifier, serviceIdentifier } = group[0] as ChartSeries
    const answer = await client.call('GET /history/export', {
      query: {
        ...{ deviceIdentifier, serviceIdentifier, properties: group.map(({ propId }) => propId).join() },
        ...{ from: Math.floor(from), to: Math.ceil(to), interval: intervalMs, aggregates: 'min,avg,max' },
      },
    })
    const text = answer as unknown as string
    // Each part begins with the same line of column names: only the first of these lines is kept.
    texts.push(texts.length === 0 ? text : text.slice(text.indexOf('\n') + 1))
  }
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob(texts, { type: 'text/csv' }))
  link.download = `history-${new Date(to).toISOString().slice(0, 10)}.csv`
  link.click()
  URL.revokeObjectURL(link.href)
}

/** The edges of a span. A span that ends now moves with the server's clock, in steps that are large enough to see. */
function useEdges(span: Span): Edges {
  const stepMs = 'lastMs' in span ? Math.max(1_000, span.lastMs / 1_000) : 0
  const at = useObservable(clock)
  const now = stepMs === 0 ? 0 : Math.ceil(at / stepMs) * stepMs
  return useMemo(() => edgesOf(span, now), [span, now])
}

function HistoryFailure({ histories: { problem, refresh } }: { readonly histories: Histories }) {
  if (isHistoryOff(problem)) {
    return <p class="notice">The server keeps no history: it was started with HISTORY=off.</p>
  }
  if (isBehind(problem)) {
    return (
      <p class="notice warning" role="status">
        The server is busy and has not stored the newest values in its history yet. The chart tries again automatically.
      </p>
    )
  }
  return <Failure text={problemText(problem)} onPress={refresh} />
}

interface ContentProps {
  readonly series: readonly ChartSeries[]
  readonly histories: Histories
  readonly edges: Edges
  readonly thresholds: readonly Threshold[]
  readonly onZoom: (edges: Edges) => void
  readonly onBack: () => void
  readonly onRemove: (key: string) => void
}

const marksShown = 5

function Content({ series, histories, edges, thresholds, onZoom, onBack, onRemove }: ContentProps) {
  const [place, setPlace] = useState<number>()
  const { intervalMs, isLoading } = histories
  const keys = series.map(seriesKey)
  const columns = keys.map((key) => histories.series.get(key))
  const gaps = useMemo(() => joinedGaps(histories.gaps, edges), [...histories.gaps, edges])
  const data = useMemo(() => chartData(columns, gaps), [...columns, gaps])
  const labels = seriesLabels(series)
  const marks = columns
    .flatMap((column, index) => (column?.marks ?? []).map((mark) => ({ ...mark, label: labels[index] ?? '' })))
    .filter(({ time }) => time >= edges.from && time < edges.to)
  const plotMarks = useMemo(
    () => marks.map(({ time, tag }) => ({ time, isError: tag === 'error' })),
    [JSON.stringify(marks)],
  )
  const lines = useMemo(
    () => series.map(({ unit = '' }, index) => ({ unit, colour: `--chart-${index + 1}` })),
    [JSON.stringify(series)],
  )
  const summaries = columns.map((column) => column && summaryOf(column, edges))
  if (intervalMs === undefined) return <Loading text="Loading the history…" />
  const at = place === undefined ? undefined : data.times[place]
  const valueColumn = (title: string, numberAt: (index: number) => number | null | undefined): Column<number> => ({
    title,
    align: 'end',
    cell: (index) => {
      const value = numberAt(index)
      return value == null ? '–' : withUnit(numberText(value), series[index]?.unit)
    },
  })
  const removeButton = (index: number) => (
    <Button kind="quiet" label={`Remove ${labels[index]}`} onPress={() => onRemove(keys[index] ?? '')}>
      ×
    </Button>
  )
  return (
    <>
      {summaries.every((summary) => !summary) && !isLoading && <NoValues edges={edges} />}
      <Plot
        {...{ data, lines, edges, gaps, thresholds, marks: plotMarks, onZoom, onBack }}
        label={labelOf(series, summaries)}
        onPoint={setPlace}
      />
      <Table
        caption="Values in the chart"
        class="history-legend"
        columns={[
          {
            title: 'Property',
            cell: (index) => (
              <>
                <span class="history-colour" style={{ background: `var(--chart-${index + 1})` }} /> {labels[index]}
              </>
            ),
          },
          valueColumn(at === undefined ? 'Latest' : dateTimeText(at * 1_000), (index) =>
            place === undefined ? summaries[index]?.last : data.series[index]?.avg[place],
          ),
          valueColumn('Minimum', (index) => summaries[index]?.min),
          valueColumn('Average', (index) => summaries[index]?.avg),
          valueColumn('Maximum', (index) => summaries[index]?.max),
          ...(series.length > 1 ? [{ ...actionsColumn(removeButton), align: 'end' as const }] : []),
        ]}
        rows={[...series.keys()]}
        rowKey={(index) => keys[index] ?? ''}
      />
      <p class="hint" role="status">
        {isLoading ? 'Loading… ' : `Each point is the average of ${exactDuration(intervalMs)}. `}
        {thresholds.length > 0 &&
          `Dashed lines show the thresholds of the alarm: ${thresholds.map(({ label }) => label).join(', ')}. `}
        {gaps.length > 0 && `${countText(gaps.length, 'gap')}: values may be missing in the coloured spans. `}
      </p>
      {marks.length > 0 && (
        <ul class="history-marks">
          {marks.slice(-marksShown).map(({ time, tag, error, label }) => (
            <li key={`${time} ${label}`} class={tag === 'error' ? 'problem' : 'soft'}>
              × {dateTimeText(time)}: {label}{' '}
              {tag === 'error' ? `had an error${error ? `: ${error}` : ''}` : 'was removed'}
            </li>
          ))}
          {marks.length > marksShown && <li class="soft">and {marks.length - marksShown} before</li>}
        </ul>
      )}
      <DataTable {...{ series, labels, data, edges }} />
    </>
  )
}

function NoValues({ edges: { to } }: { readonly edges: Edges }) {
  const isPast = to < client.now() - 60_000
  return (
    <p class="notice">
      {isPast
        ? 'The history has no values in this range.'
        : 'The history has no values in this range yet. New values appear here automatically. A longer range may have older ones.'}
    </p>
  )
}

/** The content of the chart for screen readers. */
function labelOf(series: readonly ChartSeries[], summaries: readonly (Summary | undefined)[]): string {
  const texts = seriesLabels(series).map((label, index) => {
    const summary = summaries[index]
    const { unit } = series[index] as ChartSeries
    if (!summary) return `${label}: no values`
    return `${label}: from ${numberText(summary.min)} to ${withUnit(numberText(summary.max), unit)}, ${numberText(summary.last)} at the end`
  })
  return `Chart. ${texts.join('. ')}`
}

interface DataTableProps {
  readonly series: readonly ChartSeries[]
  readonly labels: readonly string[]
  readonly data: ChartData
  readonly edges: Edges
}

const rowsMax = 100

/** The points of a chart as a table, the newest first. */
function DataTable({ series, labels, data, edges }: DataTableProps) {
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
