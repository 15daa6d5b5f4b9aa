import { useEffect, useRef, useState } from 'preact/hooks'
import { type FleetView, queryOf, viewOf } from '#dashboard/pages/fleet/view'

/** The view that the address holds, and how to change parts of it. Going back comes back to the same view. */
export function useView(): readonly [FleetView, (change: Partial<FleetView>) => void] {
  const [view, setView] = useState(viewHere)
  // Whoever types fast changes it again before it is drawn.
  const latest = useRef(view)
  const show = (changed: FleetView) => {
    latest.current = changed
    setView(changed)
  }
  useEffect(() => {
    // Of going somewhere else, or back; not of what is changed below.
    const onHashChange = () => show(viewHere())
    addEventListener('hashchange', onHashChange)
    return () => removeEventListener('hashchange', onHashChange)
  }, [])
  const change = (part: Partial<FleetView>) => {
    const changed = { ...latest.current, ...part }
    const query = queryOf(changed)
    history.replaceState(null, '', query === '' ? '#/' : `#/?${query}`)
    show(changed)
  }
  return [view, change]
}

function viewHere(): FleetView {
  const { hash } = location
  return viewOf(hash.slice(hash.indexOf('?') + 1 || hash.length))
}
