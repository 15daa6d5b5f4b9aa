import { useEffect, useReducer, useState } from 'preact/hooks'
import type { Observable, ObservableMap } from '#client/client'
import { ObservableValue } from '#client/observable'

/** A value of the page that components follow by `useObservable`. */
export function observable<Value>(value: Value): ObservableValue<Value> {
  return new ObservableValue(value, (task) => queueMicrotask(task))
}

/** The value; renders again when it changes. */
export function useObservable<Value>(observable: Observable<Value>): Value {
  const render = useRendering()
  const value = observable.value
  useEffect(() => {
    // The value may have changed between the rendering and this effect.
    if (observable.value !== value) render()
    return observable.subscribe(render)
  }, [observable])
  return value
}

/** The value of one key; renders again only when this value changes. */
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

/** Whether the list is complete; renders again only when that changes. */
export function useIsComplete(list: {
  readonly isComplete: boolean
  subscribe(listener: () => void): () => void
}): boolean {
  const [isComplete, setComplete] = useState(list.isComplete)
  useEffect(() => {
    const update = () => setComplete(list.isComplete)
    update()
    return list.subscribe(update)
  }, [list])
  return isComplete
}

/** A function that renders the component again. */
export function useRendering(): () => void {
  const [, render] = useReducer((count: number, _: undefined) => count + 1, 0)
  return () => render(undefined)
}
