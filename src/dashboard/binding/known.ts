import { useEffect, useMemo, useState } from 'preact/hooks'
import type { GroupOption } from '#dashboard/binding/binding'
import { useCall } from '#dashboard/parts/use-call'
import { useObservable } from '#dashboard/parts/use-observable'
import { client, mayI } from '#dashboard/session'
import { state } from '#dashboard/state'
import type { ServiceSchema } from '#model/service-schema'

/** What there is to choose from, as far as it was seen: for suggestions, not as a limit. */

/** Services are alike across a fleet: the first few hundred devices have nearly all of them. */
const lookedAtMax = 500

/** By name; as long as their number stays, they are the ones there were. */
export function useKnownDevices(): readonly string[] {
  const { devices } = state()
  const size = useSize(devices)
  return useMemo(() => [...devices.keys()].sort(), [devices, size])
}

/** Those that have a schema, and those of devices. */
export function useKnownServices(): readonly string[] {
  const { devices, schemas } = state()
  const known = useObservable(schemas)
  const size = useSize(devices)
  return useMemo(() => {
    const found = new Set(known.keys())
    let left = lookedAtMax
    for (const device of devices.values()) {
      if (left-- === 0) break
      for (const service of device.services.keys()) found.add(service)
    }
    return [...found].sort()
  }, [devices, known, size])
}

/** What the schema of each service says. */
export function useSchemas(): ReadonlyMap<string, ServiceSchema> {
  return useObservable(state().schemas)
}

/** Rendered anew when there are more or fewer: not with each of ten thousand changes. */
function useSize(map: { readonly size: number; subscribe(listener: () => void): () => void }): number {
  const [size, setSize] = useState(map.size)
  useEffect(() => {
    setSize(map.size)
    return map.subscribe(() => setSize(map.size))
  }, [map])
  return size
}

/** Undefined until they are there, and for who may not read them. */
export function useGroups(): readonly GroupOption[] | undefined {
  const { value } = useCall(async () => (mayI('functions', 'read') ? client.call('GET /groups') : undefined), [])
  return value
}
