import { useEffect, useRef, useState } from 'preact/hooks'
import type { DeviceView, ObservableMap } from '#client/client'
import { type Arrangement, type ArrangeOptions, arrange, isSameOrder } from '#dashboard/pages/fleet/arrangement'
import { after, measureMs, now } from '#dashboard/timers'

/** The live fleet for a view. */
export interface Fleet extends Arrangement {
  readonly total: number
  /** The property ids of each service, from the first device that has it. */
  readonly offers: ReadonlyMap<string, readonly number[]>
}

/**
 * Minimum pause between two scans of all devices. After a slow scan the pause is ten times as long, so that scans take
 * at most a tenth of the time.
 */
const pauseMsMin = 250
const pausePerCost = 10
const offersMs = 5_000

type Devices = ObservableMap<string, DeviceView>

/** Rows do not move before this time, because the user points at them. */
export interface ScrollHold {
  /** Unix ms. */
  until: number
}

/**
 * The rows of the view. Values inside of rows update by themselves. A changed view is applied at once, changed devices
 * a few times a second.
 */
export function useFleet(devices: Devices, options: ArrangeOptions, deps: readonly unknown[], hold: ScrollHold): Fleet {
  const order = useRef<FleetOrder>()
  order.current ??= new FleetOrder(devices)
  const scan = (): Fleet => (order.current as FleetOrder).scan(options)
  const [fleet, setFleet] = useState(scan)
  const latest = useRef(scan)
  latest.current = scan

  useEffect(() => setFleet((before) => reuseUnchanged(before, latest.current())), deps)
  useEffect(() => {
    let cancelRescan: (() => void) | undefined
    let pauseMs = pauseMsMin
    const rescan = () => {
      const holdMs = hold.until - now()
      cancelRescan = holdMs > 0 ? after(holdMs, rescan) : undefined
      if (cancelRescan) return
      const cost = measureMs(() => setFleet((before) => reuseUnchanged(before, latest.current())))
      pauseMs = Math.max(pauseMsMin, cost * pausePerCost)
    }
    const unsubscribe = devices.subscribe((changed) => {
      order.current?.markChanged(changed)
      cancelRescan ??= after(pauseMs, rescan)
    })
    // Includes changes between the rendering and this effect.
    order.current?.markChanged(undefined)
    rescan()
    return () => {
      unsubscribe()
      cancelRescan?.()
    }
  }, [devices])
  return fleet
}

/** Reuses unchanged objects, so that nothing is rendered, or only the counts. */
function reuseUnchanged(before: Fleet, after: Fleet): Fleet {
  if (!isSameOrder(before.identifiers, after.identifiers)) return after
  const { counts, total, offers } = after
  const isSame = total === before.total && offers === before.offers && isSameCounts(counts, before.counts)
  return isSame ? before : { ...after, identifiers: before.identifiers }
}

function isSameCounts(one: Fleet['counts'], other: Fleet['counts']): boolean {
  return (['any', 'online', 'idle', 'offline'] as const).every((status) => one[status] === other[status])
}

/** All identifiers in order, sorted again only when devices were added or removed. */
class FleetOrder {
  readonly #devices: Devices
  #identifiers: readonly string[] = []
  #known: ReadonlySet<string> = new Set()
  #isOutdated = true
  #offers: ReadonlyMap<string, readonly number[]> = new Map()
  #offersAt = 0

  constructor(devices: Devices) {
    this.#devices = devices
  }

  /** The changed devices; undefined: any device may have changed. */
  markChanged(changed: ReadonlySet<string> | undefined): void {
    if (this.#isOutdated) return
    if (changed === undefined || this.#devices.size !== this.#known.size) this.#isOutdated = true
    else for (const identifier of changed) this.#isOutdated ||= !this.#known.has(identifier)
  }

  scan(options: ArrangeOptions): Fleet {
    if (this.#isOutdated) {
      this.#identifiers = [...this.#devices.keys()].sort()
      this.#known = new Set(this.#identifiers)
      this.#isOutdated = false
      this.#offersAt = 0
    }
    if (now() - this.#offersAt > offersMs) {
      const offers = offersOf(this.#devices.values())
      if (String([...offers]) !== String([...this.#offers])) this.#offers = offers
      this.#offersAt = now()
    }
    return { ...arrange(this.#ordered(), options), total: this.#identifiers.length, offers: this.#offers }
  }

  *#ordered(): Generator<DeviceView> {
    for (const identifier of this.#identifiers) {
      const device = this.#devices.get(identifier)
      if (device) yield device
    }
  }
}

function offersOf(devices: Iterable<DeviceView>): ReadonlyMap<string, readonly number[]> {
  const offers = new Map<string, readonly number[]>()
  for (const { services } of devices) {
    for (const [serviceIdentifier, service] of services) {
      if (!offers.has(serviceIdentifier)) offers.set(serviceIdentifier, [...service.keys()])
    }
  }
  return offers
}
