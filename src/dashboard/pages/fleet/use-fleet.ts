import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Problem } from '#client/client'
import { useDevices, useReadVersion } from '#dashboard/binding/known-names'
import { useObservable } from '#dashboard/components/use-observable'
import { isSameOrder, type SortKey, sortedBy } from '#dashboard/pages/fleet/columns'
import { type FetchFleetPage, type FleetResult, FleetSearch } from '#dashboard/pages/fleet/fleet-search'
import { deviceToCheck, type FleetView, fleetQueryOf, type Wanted } from '#dashboard/pages/fleet/view'
import { client, liveState, mayUser, onReconnect } from '#dashboard/session'
import { delayed, now, runAfter } from '#dashboard/timers'

/**
 * The largest number of devices that can be sorted by a column. The server sorts only by identifier; other orders need
 * the values of all devices.
 */
export const sortedMax = 1_000

/** The pause after typing before a request is sent. */
const typingMs = 200

/** The pause between two sorts. A sort takes a few milliseconds, with large metadata in its column up to 100 ms. */
const sortPauseMs = 250

/** While the user points at rows, they do not move, so that a click hits the intended row. */
const holdMs = 1_000
/** Unix ms. */
let heldUntil = 0

/** Call it when the user points at rows. */
export function holdRows(): void {
  heldUntil = now() + holdMs
}

const none: readonly string[] = []

/**
 * The devices of a view, in its order; by identifier without `sortKey`. When the view changes, the previous devices stay
 * until the first new ones are known.
 */
export function useFleet(view: FleetView, wanted: Wanted, sortKey: SortKey | undefined) {
  // The click that left the page holds no rows of a new one.
  useEffect(() => {
    heldUntil = 0
  }, [])
  const result = useSearch(view, wanted)
  const { identifiers = none, isComplete } = result
  const canSort = isComplete && identifiers.length <= sortedMax
  const sorted = useSorted(canSort && sortKey ? identifiers : none, sortKey, view.isDescending)
  const isReversed = !sortKey && view.isDescending && isComplete
  const reversed = useMemo(() => (isReversed ? identifiers.toReversed() : identifiers), [isReversed, identifiers])
  const isSorted = sorted.length > 0 && canSort && sortKey
  return { ...result, identifiers: result.identifiers && (isSorted ? sorted : reversed), canSort }
}

/** `isOutdated`: the devices are still those of the previous view. */
function useSearch(view: FleetView, wanted: Wanted) {
  const live = liveState()
  const [result, setResult] = useState<FleetResult & { readonly key?: string }>(nothingRead)
  const isFirst = useRef(true)
  const query = fleetQueryOf(view, wanted)
  const key = JSON.stringify(query)
  useEffect(() => {
    let search: FleetSearch | undefined
    let cancelHeld: (() => void) | undefined
    const show = (next: FleetResult) => {
      cancelHeld?.()
      const heldMs = heldUntil - now()
      cancelHeld = heldMs > 0 ? runAfter(heldMs, () => show(next)) : undefined
      if (!cancelHeld) setResult({ ...next, key })
    }
    const cancelStart = runAfter(isFirst.current ? 0 : typingMs, () => {
      search = new FleetSearch(query, askFleet, show)
    })
    isFirst.current = false
    const endEvents = live.events((event) => {
      const isShown = (device: string) => search?.has(device) ?? false
      const device = deviceToCheck(event, view, wanted, { isShown, receivesAdded: mayUser('device', 'read') })
      if (device !== undefined) search?.check(device)
    })
    const endConnection = onReconnect(() => search?.readAgain())
    return () => {
      cancelStart()
      cancelHeld?.()
      endEvents()
      endConnection()
      search?.stop()
    }
  }, [live, key])
  return { ...result, isOutdated: result.key !== key }
}

const nothingRead: FleetResult = { identifiers: undefined, isComplete: false }

const askFleet: FetchFleetPage = async (query) => {
  const { status, body, headers } = await client.answer('GET /devices', { query })
  if (status !== 200) throw new Problem(status, body, headers)
  const [, cursor] = /[?&]cursor=([^&>]*)/.exec(headers.get('link') ?? '') ?? []
  return { identifiers: (body as { deviceIdentifier: string }[]).map((device) => device.deviceIdentifier), cursor }
}

/**
 * Sorts devices by their values: immediately when the view changes, and a few times a second when values change. Empty
 * until the values are read.
 */
function useSorted(
  identifiers: readonly string[],
  sortKey: SortKey | undefined,
  isDescending: boolean,
): readonly string[] {
  const { devices } = liveState()
  const isRead = useDevices(identifiers)
  const [sorted, setSorted] = useState(none)
  const isActive = identifiers.length > 0 && sortKey !== undefined && (isRead || sorted.length > 0)
  useEffect(() => {
    if (!isActive) return setSorted(none)
    const sort = () => {
      const next = sortedBy(identifiers, devices, sortKey, isDescending)
      setSorted((before) => (isSameOrder(before, next) ? before : next))
    }
    sort()
    const sorting = delayed(sortPauseMs, () => {
      const heldMs = heldUntil - now()
      if (heldMs > 0) sorting.start(heldMs)
      else sort()
    })
    const unsubscribe = devices.subscribe(() => sorting.start())
    return () => {
      unsubscribe()
      sorting.cancel()
    }
  }, [devices, isActive, identifiers, sortKey, isDescending])
  return sorted
}

/** The property ids of each service: those of its schema, or else of a device that is read. */
export function useOffers(): ReadonlyMap<string, readonly number[]> {
  const { devices, schemas } = liveState()
  const known = useObservable(schemas)
  const readVersion = useReadVersion()
  return useMemo(() => {
    const offers = new Map<string, readonly number[]>()
    for (const [service, { properties }] of known) offers.set(service, Object.keys(properties).map(Number))
    for (const { services } of devices.values()) {
      for (const [service, properties] of services) {
        if (!offers.has(service)) offers.set(service, [...properties.keys()])
      }
    }
    return offers
  }, [known, devices, readVersion])
}
