import { useEffect, useState } from 'preact/hooks'
import { useHashLocation } from 'wouter-preact/use-hash-location'
import { type FleetView, queryOf, viewOf } from '#dashboard/pages/fleet/view'

/** The view that the address holds, and how to change parts of it. Going back comes back to the same view. */
export function useView(): readonly [FleetView, (change: Partial<FleetView>) => void] {
  const [location] = useHashLocation()
  const [view, setView] = useState(() => viewIn(location))
  useEffect(() => setView(viewIn(location)), [location])
  const change = (part: Partial<FleetView>) => {
    const changed = { ...view, ...part }
    const query = queryOf(changed)
    history.replaceState(null, '', query === '' ? '#/' : `#/?${query}`)
    setView(changed)
  }
  return [view, change]
}

function viewIn(location: string): FleetView {
  return viewOf(location.slice(location.indexOf('?') + 1 || location.length))
}
