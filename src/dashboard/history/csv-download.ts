import { type ChartSeries, seriesByService } from '#dashboard/history/chart-series'
import type { Edges } from '#dashboard/history/span'
import { client } from '#dashboard/session'

/** Saves the points of a chart as a file: a row for each bucket of each series. */
export async function downloadCsv(
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
    // Each part begins with the same line of column names: only the first one is kept.
    texts.push(texts.length === 0 ? text : text.slice(text.indexOf('\n') + 1))
  }
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob(texts, { type: 'text/csv' }))
  link.download = `history-${new Date(to).toISOString().slice(0, 10)}.csv`
  link.click()
  URL.revokeObjectURL(link.href)
}
