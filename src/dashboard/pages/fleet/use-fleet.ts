import { useEffect, useRef, useState } from 'preact/hooks'
import type { DeviceView, ObservableMap } from '#client/client'
import { type Arrangement, type ArrangeOptions, arrange, isSameOrder } from '#dashboard/pages/fleet/arrangement'
import { after, now, timed } from '#dashboard/world'

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
const restMsMin = 250
const restPerCost = 10
const offersMs = 5_000

type Devices = ObservableMap<string, DeviceView>

/** Rows do not move before this time, because the user points at them. */
export interface Held {
  /** Unix ms. */
  until: number
}

/**
 * The rows of the view. Values inside of rows update by themselves. A changed view is applied at once, changed devices
 * a few times a second.
 */
export function useFleet(devices: Devices, options: ArrangeOptions, deps: readonly unknown[], held: Held): Fleet {
  const order = useRef<FleetOrder>()
  order.current ??= new FleetOrder(devices)
  const scan = (): Fleet => (order.current as FleetOrder).scan(options)
  const [fleet, setFleet] = useState(scan)
  const latest = useRef(scan)
  latest.current = scan

  useEffect(() => setFleet((before) => reuseUnchanged(before, latest.current())), deps)
  useEffect(() => {
    let stopWaiting: (() => void) | undefined
    let restMs = restMsMin
    const rescan = () => {
      const heldMs = held.until - now()
      stopWaiting = heldMs > 0 ? after(heldMs, rescan) : undefined
      if (stopWaiting) return
      const cost = timed(() => setFleet((before) => reuseUnchanged(before, latest.current())))
      restMs = Math.max(restMsMin, cost * restPerCost)
    }
    const stopListening = devices.subscribe((changed) => {
      order.current?.note(changed)
      stopWaiting ??= after(restMs, rescan)
    })
    // Includes changes between the rendering and this effect.
    order.current?.note(undefined)
    rescan()
    return () => {
      stopListening()
      stopWaiting?.()
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
  #isOther = true
  #offers: ReadonlyMap<string, readonly number[]> = new Map()
  #offersAt = 0

  constructor(devices: Devices) {
    this.#devices = devices
  }

  /** The changed devices; undefined: any device may have changed. */
  note(changed: ReadonlySet<string> | undefined): void {
    if (this.#isOther) return
    if (changed === undefined || this.#devices.size !== this.#known.size) this.#isOther = true
    else for (const identifier of changed) this.#isOther ||= !this.#known.has(identifier)
  }

  scan(options: ArrangeOptions): Fleet {
    if (this.#isOther) {
      this.#identifiers = [...this.#devices.keys()].sort()
      this.#known = new Set(this.#identifiers)
      this.#isOther = false
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
