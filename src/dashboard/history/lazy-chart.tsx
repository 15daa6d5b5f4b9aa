import { Failure, Loading } from '#dashboard/components/page'
import { useCall } from '#dashboard/components/use-call'
import type { HistoryChartProps } from '#dashboard/history/history-chart'

/** A chart, whose code is loaded when the first chart appears. */
export function LazyChart(props: HistoryChartProps) {
  const { value: chart, problem } = useCall(() => import('#dashboard/history/history-chart'), [])
  if (chart) return <chart.default {...props} />
  if (problem === undefined) return <Loading />
  // Browsers do not load a failed module again, so the whole page is loaded again.
  const text = 'The chart could not be loaded: the server cannot be reached, or was updated.'
  return <Failure text={text} action="Reload" onPress={() => location.reload()} />
}
