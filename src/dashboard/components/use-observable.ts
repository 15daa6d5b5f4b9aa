import { useEffect, useMemo, useReducer, useRef } from 'preact/hooks'
import type { Observable, ObservableMap } from '#client/client'
import { ObservableValue } from '#client/observable'

/** A value of the page that components follow by `useObservable`. */
export function observable<Value>(value: Value): ObservableValue<Value> {
  return new ObservableValue(value)
}

/** The value; renders again only when it differs from the one on the page. */
export function useObservable<Value>(observable: Observable<Value>): Value {
  const [, render] = useReducer((count: number, _: undefined) => count + 1, 0)
  const { value } = observable
  const shown = useRef(value)
  shown.current = value
  useEffect(() => {
    const update = () => {
      if (observable.value !== shown.current) render(undefined)
    }
    // The value may have changed between the rendering and this effect.
    update()
    return observable.subscribe(update)
  }, [observable])
  return value
}

/** The value of one key; renders again only when this value changes. */
export function useKey<Key, Value>(map: Pick<ObservableMap<Key, Value>, 'at'>, key: Key): Value | undefined {
  return useObservable(useMemo(() => map.at(key), [map, key]))
}

/** Whether the list is complete; renders again only when that changes. */
export function useIsComplete(list: Pick<ObservableMap<unknown, unknown>, 'isComplete' | 'subscribe'>): boolean {
  const isComplete = {
    get value() {
      return list.isComplete
    },
    subscribe: (listener: () => void) => list.subscribe(listener),
  }
  return useObservable(useMemo(() => isComplete, [list]))
}
