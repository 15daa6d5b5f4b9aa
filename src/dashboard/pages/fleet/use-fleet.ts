import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Problem } from '#client/client'
import { useDevices, useReadVersion } from '#dashboard/binding/known-names'
import { useObservable } from '#dashboard/components/use-observable'
import { isSameOrder, type SortKey, sortedBy } from '#dashboard/pages/fleet/columns'
import { type FetchFleetPage, type FleetResult, FleetSearch } from '#dashboard/pages/fleet/fleet-search'
import { deviceToCheck, type FleetView, fleetQueryOf } from '#dashboard/pages/fleet/view'
import { client, liveState, mayUser, onReconnect } from '#dashboard/session'
import { delayed, measureMs, now, runAfter } from '#dashboard/timers'

/**
 * The largest number of devices that can be sorted by a column. The server sorts only by identifier; other orders need
 * the values of all devices.
 */
export const sortedMax = 1_000

/** The pause after typing before a request is sent. */
const typingMs = 200

/**
 * Minimum pause between two sorts. After a slow sort the pause is ten times as long as the sort, so that
 * sorting takes at most a tenth of the time.
 */
const pauseMsMin = 250
const pausePerCost = 10

/** Rows do not move before this time, because the user points at them. */
export interface ScrollHold {
  /** Unix ms. */
  until: number
}

interface FleetOptions {
  readonly view: FleetView
  readonly wanted: number | string | undefined
  /** Absent: the order is by identifier. */
  readonly sortKey: SortKey | undefined
  readonly hold: ScrollHold
}

export interface Fleet extends FleetResult {
  /** Whether the devices are still those of the previous view. */
  readonly isOutdated: boolean
  readonly canSort: boolean
}

/**
 * The devices of a view, in its order. When the view changes, the previous devices stay until the first new ones are
 * known.
 */
export function useFleet({ view, wanted, sortKey, hold }: FleetOptions): Fleet {
  const result = useSearch(view, wanted, hold)
  const { identifiers = [], isComplete } = result
  const canSort = isComplete && identifiers.length <= sortedMax
  const sorted = useSorted(canSort && sortKey ? identifiers : [], sortKey, view.isDescending, hold)
  const isReversed = !sortKey && view.isDescending && isComplete
  const reversed = useMemo(() => (isReversed ? identifiers.toReversed() : identifiers), [isReversed, identifiers])
  const isSorted = sorted.length > 0 && canSort && sortKey
  return { ...result, identifiers: result.identifiers && (isSorted ? sorted : reversed), canSort }
}

function useSearch(view: FleetView, wanted: FleetOptions['wanted'], hold: ScrollHold): Omit<Fleet, 'canSort'> {
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
      const holdMs = hold.until - now()
      cancelHeld = holdMs > 0 ? runAfter(holdMs, () => show(next)) : undefined
      if (!cancelHeld) setResult((before) => ({ ...reuseUnchanged(before, next), key }))
    }
    const cancelStart = runAfter(isFirst.current ? 0 : typingMs, () => {
      search = new FleetSearch(query, askFleet, show)
    })
    isFirst.current = false
    const endEvents = live.events((event) => {
      const shown = {
        isShown: (device: string) => search?.has(device) ?? false,
        receivesAdded: mayUser('device', 'read'),
      }
      const device = deviceToCheck(event, view, wanted, shown)
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

/** Keeps the same list object if the rows are the same, so that nothing is rendered. */
function reuseUnchanged(before: FleetResult, after: FleetResult): FleetResult {
  const isSame = before.identifiers && after.identifiers && isSameOrder(before.identifiers, after.identifiers)
  return isSame ? { ...after, identifiers: before.identifiers } : after
}

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
  hold: ScrollHold,
): readonly string[] {
  const { devices } = liveState()
  const isRead = useDevices(identifiers)
  const [sorted, setSorted] = useState<readonly string[]>([])
  const isActive = identifiers.length > 0 && sortKey !== undefined && (isRead || sorted.length > 0)
  const latest = useRef(() => {})
  latest.current = () => {
    if (!isActive) return
    const next = sortedBy(identifiers, devices, sortKey, isDescending)
    setSorted((before) => (isSameOrder(before, next) ? before : next))
  }
  useEffect(() => latest.current(), [identifiers, sortKey, isDescending, isActive])
  useEffect(() => {
    if (!isActive) return setSorted([])
    let pauseMs = pauseMsMin
    const sorting = delayed(pauseMsMin, () => {
      const holdMs = hold.until - now()
      if (holdMs > 0) sorting.start(holdMs)
      else pauseMs = Math.max(pauseMsMin, measureMs(latest.current) * pausePerCost)
    })
    const unsubscribe = devices.subscribe(() => sorting.start(pauseMs))
    return () => {
      unsubscribe()
      sorting.cancel()
    }
  }, [devices, isActive])
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
