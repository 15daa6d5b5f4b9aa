import type { MeantLists } from '#model/bound'
import { type EventType, eventKinds } from '#model/event'
import { holds, type Reach, reachesLists, type Scope } from '#model/scope'

/** What a client asked to be left of what it may hear. Absent: everything. Contract 4.2. */
export interface EventFilter {
  readonly types?: ReadonlySet<string>
  readonly devices?: ReadonlySet<string>
  readonly services?: ReadonlySet<string>
}

/**
 * Sockets that hear the same: same access, same filter. One class is one topic, so that an event is published once per
 * class however many sockets there are, and no socket hears it twice however many grants allow it.
 */
export interface AudienceClass {
  readonly topic: string
  /** `keyOf` its access and filter. Kept, because it costs more to make than the rest of a socket. */
  readonly key: string
  /** Names the access: changing that redefines every class of it. */
  readonly access: string
  readonly filter: EventFilter
  scope: Scope
  sockets: number
  /** Its sockets receive nothing until the RESYNC that a change of the access requires. */
  isPaused: boolean
}

/**
 * Whether a class hears an event. A filter narrows like a scope does: what an event does not say it is not judged by.
 *
 * @param bound of events that name no device: those that the thing is bound to. The class must reach every one of them,
 * whatever devices its filter names
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
 * Classes that are found by the same devices: those of one access, or one whose filter names devices. A scope may name
 * 18 000 devices, and a user may open a thousand sockets, each with a filter of its own: the names are entered once for all.
 */
interface Naming {
  readonly classes: Set<AudienceClass>
  /** The scope that `devices` is of. */
  scope: Scope | undefined
  devices: ReadonlySet<string>
  /** Its classes also receive events of devices that it does not name. */
  isWide: boolean
}

/**
 * Which classes hear what. Classes that hear of any device are few and found by type and service, a list that is kept;
 * classes that name their devices may be many and are found by device.
 */
export class Audiences {
  readonly #prefix: string
  readonly #classes = new Map<string, AudienceClass>()
  readonly #wide = new Set<AudienceClass>()
  readonly #namings = new Map<string, Naming>()
  readonly #byDevice = new Map<string, Set<Naming>>()
  /** Wide classes by type and service. Emptied when a class comes, goes or is redefined. */
  readonly #known = new Map<EventType, Map<string | undefined, readonly AudienceClass[]>>()
  #knownCount = 0
  #nextTopic = 0

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  get size(): number {
    return this.#classes.size
  }

  /** The class of this access and filter, with one more socket. */
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

  /** These accesses reach something else from now on. Their audiences are paused, and returned. */
  redefine(changed: ReadonlyMap<string, Scope>): readonly AudienceClass[] {
    const redefined = [...this.#classes.values()].filter(({ access }) => changed.has(access))
    for (const audience of redefined) {
      audience.scope = changed.get(audience.access) as Scope
      audience.isPaused = true
    }
    return redefined
  }

  /** Ends the pause of `redefine`. Takes some 5 ms for an access that names 18 000 other devices than before. */
  resume(audience: AudienceClass): void {
    // Lists that were made during the pause may be those of another scope.
    this.#forgetKnown()
    this.#name(this.#namings.get(namingKeyOf(audience)) as Naming, audience)
    audience.isPaused = false
  }

  /** Every class that hears the event, each once. `bound`: see `isHeard`. */
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

  /** Thousands of devices may have to be looked at: once for an access, however many filters it is heard by. */
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

  /** Enters the devices of this class, one of its classes, unless they are those of the same scope already. */
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

  /** It is found by these devices. An edit of a role changes few of them. */
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

/** Types times services that lists are kept for; services are named by devices, so there must be an end. */
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

/** The devices whose events a class receives, each grant of its scope taken once. */
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

/** Equal for classes that are found by the same devices. */
function namingKeyOf({ key, access, filter }: AudienceClass): string {
  return filter.devices ? key : keyOf(access, {})
}

/** Equal for the same access and the same filter. */
function keyOf(access: string, { types, devices, services }: EventFilter): string {
  return JSON.stringify([access, ...[types, devices, services].map((names) => names && [...names].sort())])
}
