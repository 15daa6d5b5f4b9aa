import { useEffect, useMemo, useState } from 'preact/hooks'
import type { GroupOption } from '#dashboard/binding/binding'
import { useCall } from '#dashboard/parts/use-call'
import { useObservable } from '#dashboard/parts/use-observable'
import { client, mayI } from '#dashboard/session'
import { state } from '#dashboard/state'
import type { ServiceSchema } from '#model/service-schema'

/** Known devices, services and groups: suggestions, not limits. */

/** A fleet has few kinds of services: the first few hundred devices have nearly all of them. */
const scannedMax = 500

/** Sorted by name; updated only when the number of devices changes. */
export function useKnownDevices(): readonly string[] {
  const { devices } = state()
  const size = useSize(devices)
  return useMemo(() => [...devices.keys()].sort(), [devices, size])
}

/** Services with a schema, and services of devices. */
export function useKnownServices(): readonly string[] {
  const { devices, schemas } = state()
  const known = useObservable(schemas)
  const size = useSize(devices)
  return useMemo(() => {
    const found = new Set(known.keys())
    let left = scannedMax
    for (const device of devices.values()) {
      if (left-- === 0) break
      for (const service of device.services.keys()) found.add(service)
    }
    return [...found].sort()
  }, [devices, known, size])
}

/** The schemas by service. */
export function useSchemas(): ReadonlyMap<string, ServiceSchema> {
  return useObservable(state().schemas)
}

/** Renders again only when the number of entries changes, not with every change of ten thousand entries. */
function useSize(map: { readonly size: number; subscribe(listener: () => void): () => void }): number {
  const [size, setSize] = useState(map.size)
  useEffect(() => {
    setSize(map.size)
    return map.subscribe(() => setSize(map.size))
  }, [map])
  return size
}

/** Undefined while loading, and for users who may not read groups. */
export function useGroups(): readonly GroupOption[] | undefined {
  const { value } = useCall(async () => (mayI('functions', 'read') ? client.call('GET /groups') : undefined), [])
  return value
}
