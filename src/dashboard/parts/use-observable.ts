import { useEffect, useReducer, useState } from 'preact/hooks'
import type { Observable, ObservableMap } from '#client/client'

/** The value, with a new rendering at each change of it. */
export function useObservable<Value>(observable: Observable<Value>): Value {
  const render = useRendering()
  const value = observable.value
  useEffect(() => {
    // It may have changed between the rendering and this.
    if (observable.value !== value) render()
    return observable.subscribe(render)
  }, [observable])
  return value
}

/** The value of one key, with a new rendering at each change of it and of no other. */
export function useKey<Key, Value>(
  observable: Pick<ObservableMap<Key, Value>, 'get' | 'subscribeKey'>,
  key: Key,
): Value | undefined {
  const render = useRendering()
  const value = observable.get(key)
  useEffect(() => {
    if (observable.get(key) !== value) render()
    return observable.subscribeKey(key, render)
  }, [observable, key])
  return value
}

/** Whether all of a list was read, with a new rendering when that changes and at no change of what is in it. */
export function useIsComplete(list: {
  readonly isComplete: boolean
  subscribe(listener: () => void): () => void
}): boolean {
  const [isComplete, setComplete] = useState(list.isComplete)
  useEffect(() => {
    const look = () => setComplete(list.isComplete)
    look()
    return list.subscribe(look)
  }, [list])
  return isComplete
}

/** Renders the component that asks once more, whenever it is called. */
function useRendering(): () => void {
  const [, render] = useReducer((count: number, _: undefined) => count + 1, 0)
  return () => render(undefined)
}
