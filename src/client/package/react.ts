import { useCallback, useMemo, useSyncExternalStore } from 'react'
import type { Observable } from '#client/observable'
import type { DeviceView, PropertyView, State } from '#client/state'

/** Hooks for React 18 and later. Each renders its component again when its own part of the state has changed. */

/** All devices of the state, by device identifier. */
export function useDevices(state: State): ReadonlyMap<string, DeviceView> {
  return useObservable(state.devices)
}

/** One device, `undefined` if there is none. Case does not matter. */
export function useDevice(state: State, deviceIdentifier: string): DeviceView | undefined {
  return useObservable(useMemo(() => state.device(deviceIdentifier), [state, deviceIdentifier]))
}

/** One property of a device, `undefined` if there is none. Reports of other properties do not render the component. */
export function useProperty(
  state: State,
  deviceIdentifier: string,
  serviceIdentifier: string,
  propId: number,
): PropertyView | undefined {
  return useObservable(
    useMemo(
      () => propertyOf(state.device(deviceIdentifier), serviceIdentifier, propId),
      [state, deviceIdentifier, serviceIdentifier, propId],
    ),
  )
}

function useObservable<T>(observable: Observable<T>): T {
  const subscribe = useCallback((listener: () => void) => observable.subscribe(listener), [observable])
  const read = () => observable.value
  return useSyncExternalStore(subscribe, read, read)
}

/** A device creates a `PropertyView` on each access; here it is the same object until the property changes. */
function propertyOf(
  device: Observable<DeviceView | undefined>,
  serviceIdentifier: string,
  propId: number,
): Observable<PropertyView | undefined> {
  let property: PropertyView | undefined
  return {
    get value() {
      const present = device.value?.services.get(serviceIdentifier)?.get(propId)
      if (!isSame(present, property)) property = present
      return property
    },
    subscribe: (listener) => device.subscribe(listener),
  }
}

/** Values (also lists) and modifiers are the same objects until they change. */
function isSame(one: PropertyView | undefined, other: PropertyView | undefined): boolean {
  if (!one || !other) return one === other
  return propertyFields.every((field) => one[field] === other[field])
}

const propertyFields = ['type', 'tag', 'modifier', 'value', 'error', 'timestamp'] as const
