import { useEffect, useState } from 'preact/hooks'

/** A module that is loaded when the component appears: `{ loaded }`, a failure, or undefined while it is loading. */
export function useLazy<Module>(load: () => Promise<Module>): { readonly loaded: Module } | 'failed' | undefined {
  const [state, setState] = useState<{ readonly loaded: Module } | 'failed'>()
  useEffect(() => {
    load().then(
      (loaded) => setState({ loaded }),
      () => setState('failed'),
    )
  }, [])
  return state
}
