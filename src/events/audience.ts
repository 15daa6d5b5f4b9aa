import type { MeantLists } from '#model/bound'
import { type EventType, eventKinds } from '#model/event'
import { holds, type Reach, reachesLists, type Scope } from '#model/scope'

/** The part of its readable events that a client asks for. Absent: everything. Contract 4.2. */
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
  /** `keyOf` its access and filter. Stored, because computing it costs more than the rest of a socket. */
  readonly key: string
  /** Names the access: changing that redefines all of its classes. */
  readonly access: string
  readonly filter: EventFilter
  scope: Scope
  sockets: number
  /** Its sockets receive nothing until the RESYNC that a change of the access requires. */
  isPaused: boolean
}

/**
 * Whether a class receives an event. A filter narrows like a scope: it does not apply to fields that an event lacks.
 *
 * @param bound for events without a device: the devices to which their object is bound. The class must reach all of
 * them, independent of the devices in its filter
 */
export function isHeard(
  audience: AudienceClass,
  type: EventType,
  device?: string,
  service?: string,
  bound?: MeantLists,
): boolean {
  const { filter, scope } = audience
  if (!isWanted(filter, type, device, service)) return false
  const { resource } = eventKinds[type]
  if (bound !== undefined) return reachesLists(scope, resource, 'read', bound)
  return scope.reaches(resource, 'read').some((reach) => isReached(reach, device, service))
}

/**
 * Classes with the same set of devices: all classes of one access, or one class whose filter names devices. A scope may
 * name 18 000 devices, and a user may open a thousand sockets with different filters, so each set is indexed only once.
 */
interface Naming {
  readonly classes: Set<AudienceClass>
  /** The scope from which `devices` was computed. */
  scope: Scope | undefined
  devices: ReadonlySet<string>
  /** Its classes also receive events of devices that it does not name. */
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
  readonly #namings = new Map<string, Naming>()
  readonly #byDevice = new Map<string, Set<Naming>>()
  /** Wide classes by type and service. Cleared when a class is added, removed or redefined. */
  readonly #known = new Map<EventType, Map<string | undefined, readonly AudienceClass[]>>()
  #knownCount = 0
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

  /** Changes the scopes of these accesses. Pauses and returns their classes. */
  redefine(changed: ReadonlyMap<string, Scope>): readonly AudienceClass[] {
    const redefined = [...this.#classes.values()].filter(({ access }) => changed.has(access))
    for (const audience of redefined) {
      audience.scope = changed.get(audience.access) as Scope
      audience.isPaused = true
    }
    return redefined
  }

  /** Ends the pause of `redefine`. Takes about 5 ms for an access with 18 000 other devices than before. */
  resume(audience: AudienceClass): void {
    // Lists that were made during the pause may be those of another scope.
    this.#forgetKnown()
    this.#name(this.#namings.get(namingKeyOf(audience)) as Naming, audience)
    audience.isPaused = false
  }

  /** Every class that receives the event, each once. `bound`: see `isReceivedBy`. */
  hearers(
    type: EventType,
    device: string | undefined,
    service: string | undefined,
    bound?: MeantLists,
  ): readonly AudienceClass[] {
    if (bound !== undefined) return this.#boundHearers(type, bound)
    if (device === undefined) {
      return [...this.#classes.values()].filter((audience) => isHeard(audience, type, undefined, service))
    }
    const wide = this.#wideHearers(type, service)
    const named = this.#byDevice.size === 0 ? undefined : this.#byDevice.get(device)
    if (!named) return wide
    const more: AudienceClass[] = []
    for (const { classes, isWide } of named) {
      for (const audience of classes) {
        if (isHeard(audience, type, device, service) && !(isWide && wide.includes(audience))) more.push(audience)
      }
    }
    return more.length === 0 ? wide : [...wide, ...more]
  }

  /** Bound devices may be thousands, so they are checked once for an access and not for each filter. */
  #boundHearers(type: EventType, bound: MeantLists): readonly AudienceClass[] {
    const known = new Map<Scope, boolean>()
    const reaches = (scope: Scope): boolean => {
      const isReaching = known.get(scope) ?? reachesLists(scope, eventKinds[type].resource, 'read', bound)
      known.set(scope, isReaching)
      return isReaching
    }
    return [...this.#classes.values()].filter(({ filter, scope }) => isWanted(filter, type) && reaches(scope))
  }

  #wideHearers(type: EventType, service: string | undefined): readonly AudienceClass[] {
    const known = this.#known.get(type)?.get(service)
    if (known) return known
    const hearers = [...this.#wide].filter(
      (audience) =>
        isWanted(audience.filter, type, undefined, service) &&
        audience.scope
          .reaches(eventKinds[type].resource, 'read')
          .some((reach) => reach.devices === '*' && isReached(reach, undefined, service)),
    )
    this.#know(type, service, hearers)
    return hearers
  }

  #know(type: EventType, service: string | undefined, hearers: readonly AudienceClass[]): void {
    if (this.#knownCount >= knownMax) this.#forgetKnown()
    const byService = this.#known.get(type) ?? new Map<string | undefined, readonly AudienceClass[]>()
    byService.set(service, hearers)
    this.#known.set(type, byService)
    this.#knownCount++
  }

  #forgetKnown(): void {
    this.#known.clear()
    this.#knownCount = 0
  }

  #add(audience: AudienceClass): void {
    this.#forgetKnown()
    const key = namingKeyOf(audience)
    let naming = this.#namings.get(key)
    if (!naming) {
      naming = { classes: new Set(), scope: undefined, devices: noDevices, isWide: false }
      this.#namings.set(key, naming)
    }
    naming.classes.add(audience)
    this.#name(naming, audience)
    if (naming.isWide) this.#wide.add(audience)
  }

  #remove(audience: AudienceClass): void {
    this.#forgetKnown()
    this.#wide.delete(audience)
    const key = namingKeyOf(audience)
    const naming = this.#namings.get(key) as Naming
    naming.classes.delete(audience)
    if (naming.classes.size > 0) return
    this.#namings.delete(key)
    this.#enter(naming, noDevices)
  }

  /** Indexes the devices of a class, unless they come from the same scope as before. */
  #name(naming: Naming, audience: AudienceClass): void {
    if (naming.scope === audience.scope) return
    naming.scope = audience.scope
    this.#forgetKnown()
    const { devices, isWide } = devicesOf(audience)
    this.#enter(naming, devices)
    naming.isWide = isWide
    for (const each of naming.classes) {
      if (isWide) this.#wide.add(each)
      else this.#wide.delete(each)
    }
  }

  /** Updates the index by device. An edit of a role changes few entries. */
  #enter(naming: Naming, devices: ReadonlySet<string>): void {
    for (const device of naming.devices) {
      if (devices.has(device)) continue
      const namings = this.#byDevice.get(device)
      namings?.delete(naming)
      if (namings?.size === 0) this.#byDevice.delete(device)
    }
    for (const device of devices) {
      if (naming.devices.has(device)) continue
      const namings = this.#byDevice.get(device)
      if (namings) namings.add(naming)
      else this.#byDevice.set(device, new Set([naming]))
    }
    naming.devices = devices
  }
}

const noDevices: ReadonlySet<string> = new Set()

/** Maximum number of cached lists (types times services). Devices choose service names, so there must be a limit. */
const knownMax = 4_096

function isWanted(filter: EventFilter, type: EventType, device?: string, service?: string): boolean {
  return (
    (!filter.types || filter.types.has(type)) &&
    (device === undefined || !filter.devices || filter.devices.has(device)) &&
    (service === undefined || !filter.services || filter.services.has(service))
  )
}

function isReached(reach: Reach, device: string | undefined, service: string | undefined): boolean {
  return (
    (device === undefined || holds(reach.devices, device)) && (service === undefined || holds(reach.services, service))
  )
}

/** The devices whose events a class receives, over all grants of its scope. */
function devicesOf({ filter, scope }: AudienceClass): Pick<Naming, 'devices' | 'isWide'> {
  if (filter.devices) return { devices: filter.devices, isWide: false }
  const reaches = new Set(Object.values(eventKinds).flatMap(({ resource }) => scope.reaches(resource, 'read')))
  const devices = new Set<string>()
  let isWide = false
  for (const reach of reaches) {
    if (reach.devices === '*') isWide = true
    else for (const device of reach.devices) devices.add(device)
  }
  return { devices, isWide }
}

/** Equal for classes with the same set of devices. */
function namingKeyOf({ key, access, filter }: AudienceClass): string {
  return filter.devices ? key : keyOf(access, {})
}

/** Equal for the same access and the same filter. */
function keyOf(access: string, { types, devices, services }: EventFilter): string {
  return JSON.stringify([access, ...[types, devices, services].map((names) => names && [...names].sort())])
}
