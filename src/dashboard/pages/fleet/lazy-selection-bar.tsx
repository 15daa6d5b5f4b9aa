import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Loading } from '#dashboard/components/page'
import { notify } from '#dashboard/components/toasts'
import type { SelectionBarProps } from '#dashboard/pages/fleet/bulk-changes/selection-bar'
import { mayUser } from '#dashboard/session'

/** Whether the user may do anything with selected devices. */
export function mayChangeMany(): boolean {
  const isAny = (['service', 'functions', 'meta', 'updates'] as const).some((resource) => mayUser(resource, 'update'))
  return isAny || mayUser('device', 'delete')
}

/** The actions for selected devices, whose code is loaded with the first selection. */
export function LazySelectionBar(props: SelectionBarProps) {
  const [loaded, setLoaded] = useState<{ readonly Bar: ComponentType<SelectionBarProps> }>()
  useEffect(() => {
    import('#dashboard/pages/fleet/bulk-changes/selection-bar').then(
      (module) => setLoaded({ Bar: module.default }),
      () => notify('The actions could not be loaded: the server cannot be reached, or was updated.', 'failed'),
    )
  }, [])
  return loaded ? <loaded.Bar {...props} /> : <Loading />
}
