import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { Loading } from '#dashboard/components/page'
import type { HistoryChartProps } from '#dashboard/history/history-chart'

/** A chart, whose code is loaded when the first one appears. */
export function LazyChart(props: HistoryChartProps) {
  const [loaded, setLoaded] = useState<{ readonly Chart: ComponentType<HistoryChartProps> } | 'failed'>()
  useEffect(() => {
    import('#dashboard/history/history-chart').then(
      (module) => setLoaded({ Chart: module.default }),
      () => setLoaded('failed'),
    )
  }, [])
  if (loaded === undefined) return <Loading />
  if (loaded !== 'failed') return <loaded.Chart {...props} />
  // A browser remembers that a module failed.
  return (
    <div class="notice bad" role="alert">
      <p>The chart could not be loaded: the server cannot be reached, or was updated.</p>
      <Button onPress={() => location.reload()}>Reload</Button>
    </div>
  )
}
