import { useEffect, useMemo, useState } from 'preact/hooks'
import type { GroupOption } from '#dashboard/binding/binding'
import { findTarget, type Target, type TargetMatch } from '#dashboard/binding/target'
import { useCall } from '#dashboard/parts/use-call'
import { useIsComplete, useObservable } from '#dashboard/parts/use-observable'
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

/** Services with a schema, and services of devices, sorted by the names of their schemas. */
export function useKnownServices(): readonly { readonly value: string; readonly label: string }[] {
  const { devices, schemas } = state()
  const known = useObservable(schemas)
  const size = useSize(devices)
  return useMemo(() => {
    const services = new Set(known.keys())
    let left = scannedMax
    for (const device of devices.values()) {
      if (left-- === 0) break
      for (const service of device.services.keys()) services.add(service)
    }
    const names = [...known.values()].map(({ name }) => name)
    const labelOf = (service: string) => {
      const name = known.get(service)?.name
      if (name === undefined) return service
      return names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} (${service})`
    }
    return [...services]
      .map((value) => ({ value, label: labelOf(value) }))
      .sort((one, other) => one.label.localeCompare(other.label))
  }, [devices, known, size])
}

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

/** Scans again only when devices come or go, not with every value. */
export function useTarget({ service, propId, devices }: Target): TargetMatch {
  const { devices: all } = state()
  const size = useSize(all)
  const isComplete = useIsComplete(all)
  return useMemo(() => {
    const { sample, warning } = findTarget(all, { service, propId, devices })
    return { sample, warning: isComplete ? warning : undefined }
  }, [all, size, isComplete, service, propId, devices])
}

/** Names that users gave devices in their metadata. */
export function nameOfDevice(device: string): string | undefined {
  return textInMeta(device, 'name')
}

export function siteOfDevice(device: string): string | undefined {
  return textInMeta(device, 'site')
}

function textInMeta(device: string, key: string): string | undefined {
  const text = state().devices.get(device)?.meta[key]
  return typeof text === 'string' ? text : undefined
}
