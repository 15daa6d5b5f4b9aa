import { useEffect, useMemo, useState } from 'preact/hooks'
import { type GroupOption, idOf, type Names } from '#dashboard/binding/binding'
import { findTarget, namedMax, type Target, type TargetMatch } from '#dashboard/binding/target'
import { useCall } from '#dashboard/components/use-call'
import { useIsComplete, useObservable } from '#dashboard/components/use-observable'
import { client, liveState, mayUser } from '#dashboard/session'
import { runAfter } from '#dashboard/timers'
import type { ServiceSchema } from '#model/service-schema'

/**
 * The devices that a component reads, and the names of devices, services and groups that fields suggest. Users may also
 * enter other names.
 */

/** A fleet has few kinds of services: the first few hundred devices have nearly all of them. */
const scannedMax = 500

/** The pause after typing before a request is sent. */
const typingMs = 200
const suggestedMax = 50

/** The first devices that the search of the server finds for a typed text, with their names. */
export function useSuggestedDevices(typed: string) {
  const [search, setSearch] = useState(typed)
  useEffect(() => runAfter(typingMs, () => setSearch(typed)), [typed])
  const { value } = useCall(() => client.call('GET /devices', { query: { search, limit: suggestedMax } }), [search])
  const found = (value ?? []).map(({ deviceIdentifier }) => deviceIdentifier)
  useDevices(found)
  return found.map((device) => ({ value: device, label: nameOfDevice(device) }))
}

/** Services with a schema, and services of devices, sorted by the names of their schemas. */
export function useKnownServices(): readonly { readonly value: string; readonly label: string }[] {
  const known = useObservable(liveState().schemas)
  const { value } = useCall(() => client.call('GET /devices', { query: { depth: 1, limit: scannedMax } }), [])
  return useMemo(() => {
    const services = new Set(known.keys())
    for (const device of value ?? []) {
      for (const { serviceIdentifier } of device.services ?? []) services.add(serviceIdentifier)
    }
    const names = [...known.values()].map(({ name }) => name)
    const labelOf = (service: string) => {
      const name = known.get(service)?.name
      if (name === undefined) return service
      return names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} (${service})`
    }
    return [...services]
      .map((service) => ({ value: service, label: labelOf(service) }))
      .sort((one, other) => one.label.localeCompare(other.label))
  }, [known, value])
}

export function useSchemas(): ReadonlyMap<string, ServiceSchema> {
  return useObservable(liveState().schemas)
}

/** Undefined while loading, after a failure, and for users who may not read groups. */
export function useGroups(): readonly GroupOption[] | undefined {
  const { value } = useCall(async () => (mayUser('functions', 'read') ? client.call('GET /groups') : undefined), [])
  return value
}

/** The names of services, properties and alarms; without alarms while they are loading. */
export function useNames(): Names {
  const { value } = useCall(async () => (mayUser('alarms', 'read') ? client.call('GET /alarms') : []), [])
  const alarms = useMemo(
    () => new Map((value ?? []).map(({ resourceIdentifier, name }) => [idOf(resourceIdentifier), name])),
    [value],
  )
  return { schemas: useSchemas(), alarms }
}

/** The service of a device that fits an alarm or a trigger, with its values, and a warning if no device fits. */
export function useTarget(target: Target): TargetMatch {
  const find = async (filter: string, deviceIdentifier: readonly string[] | undefined) => {
    const query = { filter, depth: 2, limit: 1, ...(deviceIdentifier && { deviceIdentifier: [...deviceIdentifier] }) }
    const [device] = await client.call('GET /devices', { query })
    return device
  }
  const { service, propId, devices } = target
  const found = useCall(
    () => findTarget(find, target),
    [service, propId, devices?.length, devices?.slice(0, namedMax).join()],
  ).value
  useDevices(found?.device === undefined ? [] : [found.device])
  const sample = liveState()
    .devices.get(found?.device ?? '')
    ?.services.get(service)
  return { sample, warning: found?.warning }
}

/** The name in the metadata of a device, if the metadata is read. */
export function nameOfDevice(device: string): string | undefined {
  return textInMeta(device, 'name')
}

export function siteOfDevice(device: string): string | undefined {
  return textInMeta(device, 'site')
}

function textInMeta(device: string, key: string): string | undefined {
  const text = liveState().devices.get(device)?.meta[key]
  return typeof text === 'string' ? text : undefined
}

/** The largest number of devices that a component reads. Further devices are left out. */
export const devicesMax = 1_000

/** The pause before rendering, so that the component does not render while the user scrolls. */
const restMs = 150

/**
 * A number that changes when the page begins to read devices, and when all of them are read. The change follows after a
 * pause.
 */
export function useReadVersion(): number {
  const { devices } = liveState()
  const [version, setVersion] = useState(0)
  useEffect(() => {
    let cancel: (() => void) | undefined
    let wasComplete = devices.isComplete
    const unsubscribe = devices.subscribe(() => {
      if (devices.isComplete === wasComplete) return
      wasComplete = devices.isComplete
      cancel?.()
      cancel = runAfter(restMs, () => setVersion((before) => before + 1))
    })
    return () => {
      unsubscribe()
      cancel?.()
    }
  }, [devices])
  return version
}

/**
 * Watches the first `devicesMax` of these devices while the component is shown, so that `liveState().devices` contains
 * them. Returns whether all watched devices of the page are read; the component renders again when this changes.
 */
export function useDevices(identifiers: readonly string[]): boolean {
  const { devices } = liveState()
  const [read, setRead] = useState<string>()
  const key = identifiers.join('\n')
  const isComplete = useIsComplete(devices)
  useEffect(() => {
    const ends = identifiers.slice(0, devicesMax).map((identifier) => devices.subscribeKey(identifier, () => {}))
    setRead(key)
    return () => {
      for (const end of ends) end()
    }
  }, [devices, key])
  return isComplete && read === key
}
