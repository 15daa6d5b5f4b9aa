import { includesName, unionOf } from '#model/device-names'
import { type EventType, eventKinds } from '#model/event'
import type { BindingLists } from '#model/group'
import { addTo, getOrInsert, removeFrom } from '#model/map-values'
import { type Reach, reachesLists, type Scope } from '#model/scope'
import { Slices } from '#runtime/slices'
import type { World } from '#runtime/world'

/** The part of the readable events that a client asks for. An absent field selects everything. Contract 4.2. */
export interface EventFilter {
  readonly types?: ReadonlySet<string>
  readonly devices?: ReadonlySet<string>
  readonly services?: ReadonlySet<string>
}

/**
 * Sockets that receive the same events: same access, same filter. Each class has one topic, so that an event is
 * published once per class, independent of the number of sockets, and no socket receives it twice.
 */
export interface AudienceClass {
  readonly topic: string
  /** `keyOf` its access and filter. Stored, because no other step of adding a socket takes as long as computing it. */
  readonly key: string
  /** Names the access: a change of the access redefines all of its classes. */
  readonly access: string
  readonly filter: EventFilter
  scope: Scope
  sockets: number
  /** Its sockets receive nothing until the RESYNC that a change of the access requires. */
  isPaused: boolean
  /** When the last RESYNC after a change of the access was sent, by `World.monotonic`. */
  resyncedAt: number
}

/**
 * Whether a class receives an event. Neither the filter nor the scope excludes an event because of a missing field.
 *
 * @param bound for events without a device: the devices to which their object is bound. The class must reach all of
 * them, independent of the devices in its filter
 */
export function isReceivedBy(
  audience: AudienceClass,
  type: EventType,
  device?: string,
  service?: string,
  bound?: BindingLists,
): boolean {
  const { filter, scope } = audience
  if (!isWanted(filter, type, device, service)) return false
  const { resource } = eventKinds[type]
  if (bound !== undefined) return reachesLists(scope, resource, 'read', bound)
  return scope.reaches(resource, 'read').some((reach) => isReached(reach, device, service))
}

/**
 * Classes with the same set of devices: all classes of one access whose filters name no devices, or one class whose
 * filter names devices. A scope may name 18 000 devices, and a user may open a thousand sockets with different filters,
 * so each set is indexed only once.
 */
interface DeviceSet {
  readonly classes: Set<AudienceClass>
  /** The scope from which `devices` and `prefixes` were computed. */
  scope: Scope | undefined
  devices: ReadonlySet<string>
  prefixes: readonly string[]
  /** Its classes also receive events of all other devices. */
  isWide: boolean
}

/**
 * Finds the classes that receive an event. Classes for any device are few and are cached by type and service. Classes
 * that name devices may be many and are indexed by device.
 */
export class Audiences {
  readonly #prefix: string
  readonly #classes = new Map<string, AudienceClass>()
  readonly #wide = new Set<AudienceClass>()
  readonly #deviceSets = new Map<string, DeviceSet>()
  readonly #byDevice = new Map<string, Set<DeviceSet>>()
  readonly #byPrefix = new Map<string, Set<DeviceSet>>()
  #prefixLengths: readonly number[] = []
  /** Wide classes by type and service. Cleared when a class is added, removed or resumed. */
  readonly #cached = new Map<EventType, Map<string | undefined, readonly AudienceClass[]>>()
  #cachedCount = 0
  #nextTopic = 0

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  get size(): number {
    return this.#classes.size
  }

  /** Adds a socket to the class of this access and filter. */
  join(access: string, scope: Scope, filter: EventFilter): AudienceClass {
    const key = keyOf(access, filter)
    let audience = this.#classes.get(key)
    if (!audience) {
      audience = {
        topic: `${this.#prefix}/${++this.#nextTopic}`,
        key,
        access,
        filter,
        scope,
        sockets: 0,
        isPaused: false,
        resyncedAt: Number.NEGATIVE_INFINITY,
      }
      this.#classes.set(key, audience)
      this.#add(audience)
    }
    audience.sockets++
    return audience
  }

  leave(audience: AudienceClass): void {
    if (--audience.sockets > 0) return
    this.#classes.delete(audience.key)
    this.#remove(audience)
  }

  /** Changes the scopes of these accesses. Pauses their classes, and returns those that were not paused before. */
  redefine(changed: ReadonlyMap<string, Scope>): readonly AudienceClass[] {
    const redefined = [...this.#classes.values()].filter(({ access }) => changed.has(access))
    const paused = redefined.filter(({ isPaused }) => !isPaused)
    for (const audience of redefined) {
      audience.scope = changed.get(audience.access) as Scope
      audience.isPaused = true
    }
    return paused
  }

  /** Ends the pause of `redefine`. Takes about 5 ms for an access whose 18 000 devices have all changed. */
  resume(audience: AudienceClass): void {
    // Lists that were cached during the pause may be those of another scope.
    this.#clearCache()
    this.#index(this.#deviceSets.get(deviceSetKeyOf(audience)) as DeviceSet, audience)
    audience.isPaused = false
  }

  /** Every class that receives the event, each once. `bound`: see `isReceivedBy`. */
  receivers(
    type: EventType,
    device: string | undefined,
    service: string | undefined,
    bound?: BindingLists,
  ): readonly AudienceClass[] {
    if (bound !== undefined) return this.#boundReceivers(type, bound)
    if (device === undefined) {
      return [...this.#classes.values()].filter((audience) => isReceivedBy(audience, type, undefined, service))
    }
    const wide = this.#wideReceivers(type, service)
    const named = this.#setsOf(device)
    if (!named) return wide
    const more: AudienceClass[] = []
    for (const { classes, isWide } of named) {
      for (const audience of classes) {
        if (isReceivedBy(audience, type, device, service) && !(isWide && wide.includes(audience))) more.push(audience)
      }
    }
    return more.length === 0 ? wide : [...wide, ...more]
  }

  #setsOf(device: string): ReadonlySet<DeviceSet> | undefined {
    let found: ReadonlySet<DeviceSet> | undefined = this.#byDevice.size === 0 ? undefined : this.#byDevice.get(device)
    for (const length of this.#prefixLengths) {
      const more = this.#byPrefix.get(device.slice(0, length))
      if (more) found = found ? new Set([...found, ...more]) : more
    }
    return found
  }

  /** Bound devices may be thousands, so they are checked once for an access and not for each filter. */
  #boundReceivers(type: EventType, bound: BindingLists): readonly AudienceClass[] {
    const known = new Map<Scope, boolean>()
    const reaches = (scope: Scope) =>
      getOrInsert(known, scope, () => reachesLists(scope, eventKinds[type].resource, 'read', bound))
    return [...this.#classes.values()].filter(({ filter, scope }) => isWanted(filter, type) && reaches(scope))
  }

  #wideReceivers(type: EventType, service: string | undefined): readonly AudienceClass[] {
    const known = this.#cached.get(type)?.get(service)
    if (known) return known
    const receivers = [...this.#wide].filter(
      (audience) =>
        isWanted(audience.filter, type, undefined, service) &&
        audience.scope
          .reaches(eventKinds[type].resource, 'read')
          .some((reach) => reach.devices === '*' && isReached(reach, undefined, service)),
    )
    this.#cache(type, service, receivers)
    return receivers
  }

  #cache(type: EventType, service: string | undefined, receivers: readonly AudienceClass[]): void {
    if (this.#cachedCount >= cachedMax) this.#clearCache()
    getOrInsert(this.#cached, type, () => new Map()).set(service, receivers)
    this.#cachedCount++
  }

  #clearCache(): void {
    this.#cached.clear()
    this.#cachedCount = 0
  }

  #add(audience: AudienceClass): void {
    this.#clearCache()
    const key = deviceSetKeyOf(audience)
    const deviceSet = getOrInsert(this.#deviceSets, key, (): DeviceSet => {
      return { classes: new Set(), scope: undefined, devices: noDevices, prefixes: [], isWide: false }
    })
    deviceSet.classes.add(audience)
    this.#index(deviceSet, audience)
    if (deviceSet.isWide) this.#wide.add(audience)
  }

  #remove(audience: AudienceClass): void {
    this.#clearCache()
    this.#wide.delete(audience)
    const key = deviceSetKeyOf(audience)
    const deviceSet = this.#deviceSets.get(key) as DeviceSet
    deviceSet.classes.delete(audience)
    if (deviceSet.classes.size > 0) return
    this.#deviceSets.delete(key)
    this.#indexDevices(deviceSet, noDevices)
    this.#indexPrefixes(deviceSet, [])
  }

  /** Indexes the devices of a class, unless they come from the same scope as before. */
  #index(deviceSet: DeviceSet, audience: AudienceClass): void {
    if (deviceSet.scope === audience.scope) return
    deviceSet.scope = audience.scope
    this.#clearCache()
    const { devices, prefixes, isWide } = devicesOf(audience)
    this.#indexDevices(deviceSet, devices)
    this.#indexPrefixes(deviceSet, prefixes)
    deviceSet.isWide = isWide
    for (const each of deviceSet.classes) {
      if (isWide) this.#wide.add(each)
      else this.#wide.delete(each)
    }
  }

  /** Updates the index by device. An edit of a role changes few entries. */
  #indexDevices(deviceSet: DeviceSet, devices: ReadonlySet<string>): void {
    for (const device of deviceSet.devices) if (!devices.has(device)) removeFrom(this.#byDevice, device, deviceSet)
    for (const device of devices) if (!deviceSet.devices.has(device)) addTo(this.#byDevice, device, deviceSet)
    deviceSet.devices = devices
  }

  #indexPrefixes(deviceSet: DeviceSet, prefixes: readonly string[]): void {
    if (deviceSet.prefixes.length + prefixes.length === 0) return
    for (const prefix of deviceSet.prefixes) removeFrom(this.#byPrefix, prefix, deviceSet)
    for (const prefix of prefixes) addTo(this.#byPrefix, prefix, deviceSet)
    deviceSet.prefixes = prefixes
    this.#prefixLengths = [...new Set([...this.#byPrefix.keys()].map(({ length }) => length))]
  }
}

const noDevices: ReadonlySet<string> = new Set()

/** Maximum number of cached lists (types times services). Devices choose service names, so there must be a limit. */
const cachedMax = 4_096

function isWanted(filter: EventFilter, type: EventType, device?: string, service?: string): boolean {
  return (
    (!filter.types || filter.types.has(type)) &&
    (device === undefined || !filter.devices || filter.devices.has(device)) &&
    (service === undefined || !filter.services || filter.services.has(service))
  )
}

function isReached(reach: Reach, device: string | undefined, service: string | undefined): boolean {
  return (
    (device === undefined || includesName(reach.devices, device)) &&
    (service === undefined || includesName(reach.services, service))
  )
}

/** The devices in the filter of a class. If it names none, the devices that its scope reaches, over all grants. */
function devicesOf({ filter, scope }: AudienceClass): Pick<DeviceSet, 'devices' | 'prefixes' | 'isWide'> {
  if (filter.devices) return { devices: filter.devices, prefixes: [], isWide: false }
  const reaches = [...new Set(Object.values(eventKinds).flatMap(({ resource }) => scope.reaches(resource, 'read')))]
  const { names: devices, prefixes } = unionOf(reaches)
  return { devices, prefixes, isWide: reaches.some((reach) => reach.devices === '*') }
}

/** Equal for classes with the same set of devices. */
function deviceSetKeyOf({ key, access, filter }: AudienceClass): string {
  return filter.devices ? key : keyOf(access, {})
}

/** Equal for the same access and the same filter. */
function keyOf(access: string, { types, devices, services }: EventFilter): string {
  return JSON.stringify([access, ...[types, devices, services].map((names) => names && [...names].sort())])
}

/**
 * The shortest time between two RESYNCs of a class. Permissions may change often, with the members of a group, and each
 * RESYNC makes clients read the full state. Contract 12.
 */
const resyncIntervalMs = 1_000

/**
 * Ends the pauses of classes whose access changed, in slices: from now on they receive what their new access allows, a
 * RESYNC first. A class whose last RESYNC was less than a second ago stays paused until the second has passed.
 */
export function resumeClasses(
  world: World,
  audiences: Audiences,
  paused: AudienceClass[],
  resync: (audience: AudienceClass) => void,
): void {
  const now = world.monotonic()
  const slice = new Slices(world)
  for (let audience = paused.pop(); audience; audience = paused.pop()) {
    // The class may have been resumed before, or its last socket has gone.
    if (!audience.isPaused || audience.sockets === 0) continue
    const early = audience
    const waitMs = early.resyncedAt + resyncIntervalMs - now
    if (waitMs > 0) {
      world.after(waitMs, () => resumeClasses(world, audiences, [early], resync))
      continue
    }
    audiences.resume(audience)
    audience.resyncedAt = now
    resync(audience)
    if (slice.isOver) break
  }
  if (paused.length > 0) world.soon(() => resumeClasses(world, audiences, paused, resync))
}
