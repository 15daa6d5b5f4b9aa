import { Failure, Loading } from '#dashboard/components/page'
import { useLazy } from '#dashboard/components/use-lazy'
import type { HistoryChartProps } from '#dashboard/history/history-chart'

/** A chart, whose code is loaded when the first chart appears. */
export function LazyChart(props: HistoryChartProps) {
  const chart = useLazy(() => import('#dashboard/history/history-chart'))
  if (chart === undefined) return <Loading />
  if (chart !== 'failed') return <chart.loaded.default {...props} />
  // Browsers do not load a failed module again, so the whole page is loaded again.
  const text = 'The chart could not be loaded: the server cannot be reached, or was updated.'
  return <Failure text={text} action="Reload" onPress={() => location.reload()} />
}
