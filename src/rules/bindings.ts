import { type DeviceBinding, isMember, type StoredGroup } from '#model/group'
import { getOrInsert } from '#model/map-values'

/**
 * The devices that a rule or a group named before, and those it names now. Both lists are sorted and have no
 * duplicates.
 */
export interface BindingChange {
  readonly kind: BindingKind
  readonly id: string
  readonly before: readonly string[]
  readonly after: readonly string[]
}

/** Calls the step repeatedly until it returns false, and yields to the event loop in between. */
export type RunInSlices = (step: () => boolean) => void

/** The number of devices to change before the event loop may run other work. */
const devicesAtOnce = 256

/** What names a device: rules (alarms or functions), and groups that rules name. */
export type BindingKind = 'rules' | 'groups'

/**
 * The rules and groups that name a device. All devices with the same rules and groups share a profile: there are
 * thousands of devices, and few profiles. Callers cache here what they compute for a device.
 */
export class Profile<T> {
  readonly key: string
  readonly rules: readonly string[]
  readonly groups: readonly string[]
  devices = 0
  /** The computed value, and the version of its inputs. */
  cached: T | undefined
  cachedAt = -1

  constructor(key: string, rules: readonly string[], groups: readonly string[]) {
    this.key = key
    this.rules = rules
    this.groups = groups
  }
}

/**
 * The rules and groups that name each device. A device takes one entry of 40–50 bytes, however many rules name it.
 *
 * A rule may name a million devices by its groups, so changes run in slices. Until a change is complete, `of` applies
 * it to each entry that it reads, so results do not depend on the progress of the slices.
 */
export class Bindings<T> {
  readonly #profiles = new Map<string, Profile<T>>()
  readonly #byDevice = new Map<string, Profile<T>>()
  /** The profile of devices that no rule or group names. */
  readonly #unnamed = new Profile<T>(keyOf([], []), [], [])
  readonly #runInSlices: RunInSlices
  /** Changes in order. Slices work on the first change. */
  readonly #pending: PendingChange<T>[] = []
  #isRunning = false
  /** Profiles created during pending changes. `of` may have created some that no device uses. */
  readonly #created = new Set<Profile<T>>()

  constructor(runInSlices: RunInSlices) {
    this.#runInSlices = runInSlices
  }

  of(device: string): Profile<T> {
    let profile = this.#profileNow(device)
    // If the slices have changed the entry already, this applies the change again, without effect.
    for (const change of this.#pending) {
      const isNamed = isMember(change.after, device)
      if (isNamed || isMember(change.before, device)) profile = this.#profileAfter(change, profile, isNamed)
    }
    return profile
  }

  /** Fills empty bindings at once: one step for each device, not one for each time it is named. */
  fill(lists: Readonly<Record<BindingKind, readonly (readonly [id: string, devices: readonly string[]])[]>>): void {
    const named = new Map<string, Record<BindingKind, string[]>>()
    for (const kind of ['rules', 'groups'] as const) {
      for (const [id, devices] of lists[kind]) {
        for (const device of devices) getOrInsert(named, device, () => ({ rules: [], groups: [] }))[kind].push(id)
      }
    }
    for (const [device, { rules, groups }] of named) {
      const profile = this.#profileOf({ rules: rules.sort(), groups: groups.sort() })
      profile.devices++
      this.#byDevice.set(device, profile)
    }
    this.#created.clear()
  }

  change(changes: readonly BindingChange[]): void {
    for (const change of changes) {
      const waiting = this.#pending.findLast(({ kind, id }) => kind === change.kind && id === change.id)
      if (waiting && !waiting.isBegun) waiting.after = change.after
      else this.#pending.push(new PendingChange(change))
    }
    if (this.#isRunning || this.#pending.length === 0) return
    this.#isRunning = true
    this.#runInSlices(() => this.#step())
  }

  #step(): boolean {
    const [change] = this.#pending
    for (let count = 0; change && count < devicesAtOnce; count++) {
      const next = change.next()
      if (!next) {
        this.#pending.shift()
        break
      }
      const from = this.#profileNow(next.device)
      const to = this.#profileAfter(change, from, next.isNamed)
      if (to !== from) this.#move(next.device, from, to)
    }
    this.#isRunning = this.#pending.length > 0
    if (!this.#isRunning) this.#dropUnused()
    return this.#isRunning
  }

  /** The profile after a change that affects the device. */
  #profileAfter(change: PendingChange<T>, from: Profile<T>, isNamed: boolean): Profile<T> {
    const transitions = isNamed ? change.entering : change.leaving
    let to = transitions.get(from)
    if (!to || (to !== this.#unnamed && this.#profiles.get(to.key) !== to)) {
      to = this.#profileOf(namesAfter(from, change, isNamed))
      transitions.set(from, to)
    }
    return to
  }

  #profileNow(device: string): Profile<T> {
    return this.#byDevice.get(device) ?? this.#unnamed
  }

  #move(device: string, from: Profile<T>, to: Profile<T>): void {
    to.devices++
    from.devices--
    if (to === this.#unnamed) this.#byDevice.delete(device)
    else this.#byDevice.set(device, to)
    if (from.devices === 0) this.#profiles.delete(from.key)
  }

  #dropUnused(): void {
    for (const { key, devices } of this.#created) if (devices === 0) this.#profiles.delete(key)
    this.#created.clear()
  }

  #profileOf({ rules, groups }: Pick<Profile<T>, BindingKind>): Profile<T> {
    const key = keyOf(rules, groups)
    if (key === this.#unnamed.key) return this.#unnamed
    return getOrInsert(this.#profiles, key, () => {
      const profile = new Profile<T>(key, rules, groups)
      this.#created.add(profile)
      return profile
    })
  }
}

/** A change whose slices are not complete. */
class PendingChange<T> implements BindingChange {
  readonly kind: BindingKind
  readonly id: string
  readonly before: readonly string[]
  after: readonly string[]
  /**
   * The profile after the change, by the profile before it: for devices that the rule or group newly names
   * (`entering`), and for devices that it no longer names (`leaving`).
   */
  readonly entering = new Map<Profile<T>, Profile<T>>()
  readonly leaving = new Map<Profile<T>, Profile<T>>()
  #beforeAt = 0
  #afterAt = 0

  constructor({ kind, id, before, after }: BindingChange) {
    this.kind = kind
    this.id = id
    this.before = before
    this.after = after
  }

  get isBegun(): boolean {
    return this.#beforeAt + this.#afterAt > 0
  }

  /** The next device that is in only one of the two lists. */
  next(): { readonly device: string; readonly isNamed: boolean } | undefined {
    for (;;) {
      const old = this.before[this.#beforeAt]
      const fresh = this.after[this.#afterAt]
      const isOld = fresh === undefined || (old !== undefined && old <= fresh)
      const isFresh = old === undefined || (fresh !== undefined && fresh <= old)
      if (isOld) this.#beforeAt++
      if (isFresh) this.#afterAt++
      if (isOld && isFresh && old === undefined) return undefined
      if (isOld !== isFresh) return { device: (isFresh ? fresh : old) as string, isNamed: isFresh }
    }
  }
}

function namesAfter(
  { rules, groups }: Pick<Profile<unknown>, BindingKind>,
  { kind, id }: BindingChange,
  isNamed: boolean,
): Pick<Profile<unknown>, BindingKind> {
  const named = { rules: new Set(rules), groups: new Set(groups) }
  if (isNamed) named[kind].add(id)
  else named[kind].delete(id)
  return { rules: [...named.rules].sort(), groups: [...named.groups].sort() }
}

/** Ids contain neither a comma nor a bar. */
function keyOf(rules: readonly string[], groups: readonly string[]): string {
  return `${rules.join()}|${groups.join()}`
}

/** Finds the rules of a device: rules name devices, name groups, or apply to all devices. */
export class RuleBindings<T> {
  readonly #groups = new Map<string, StoredGroup>()
  readonly #bindings: Bindings<T>
  /** The rules that are bound to all devices. */
  readonly #common = new OrderedIds()
  readonly #byGroup = new Map<string, OrderedIds>()

  constructor(runInSlices: RunInSlices) {
    this.#bindings = new Bindings(runInSlices)
  }

  profileOf(device: string): Profile<T> {
    return this.#bindings.of(device)
  }

  /** The rules of the devices of a profile, in the order of their ids. */
  rulesOf(profile: Profile<T>): readonly string[] {
    if (profile.rules.length + profile.groups.length === 0) return [...this.#common.inOrder()]
    const ids = new Set([...this.#common.inOrder(), ...profile.rules])
    for (const group of profile.groups) for (const id of this.#byGroup.get(group)?.inOrder() ?? []) ids.add(id)
    return [...ids].sort()
  }

  /** The bound devices, as a list of lists, or `*` for all. */
  boundOf(bound: DeviceBinding): readonly (readonly string[])[] | '*' {
    if (isBoundToAll(bound)) return '*'
    return [bound.devices ?? [], ...(bound.groups ?? []).map((group) => this.membersOf(group) ?? [])]
  }

  membersOf(group: string): readonly string[] | undefined {
    return this.#groups.get(group)?.devices
  }

  editOf(group: string): number | undefined {
    return this.#groups.get(group)?.edit
  }

  /** Loads everything into empty bindings. */
  load(
    rules: readonly (readonly [id: string, bound: DeviceBinding])[],
    groups: ReadonlyMap<string, StoredGroup>,
  ): void {
    for (const [id, stored] of groups) this.#groups.set(id, stored)
    for (const [id, bound] of rules) {
      if (isBoundToAll(bound)) this.#common.add(id)
      for (const group of bound.groups ?? []) getOrInsert(this.#byGroup, group, () => new OrderedIds()).add(id)
    }
    this.#bindings.fill({
      rules: rules.map(([id, { devices }]) => [id, devices ?? []]),
      groups: [...this.#byGroup.keys()].map((id) => [id, this.membersOf(id) ?? []]),
    })
  }

  /** Changes the binding of a rule. `before` or `after` undefined: the rule was, or is, bound to no device. */
  bind(id: string, before: DeviceBinding | undefined, after: DeviceBinding | undefined): void {
    if (after && isBoundToAll(after)) this.#common.add(id)
    else this.#common.delete(id)
    const groups = new Set(after?.groups ?? [])
    this.#bindings.change([
      ...changeOf('rules', id, before?.devices ?? [], after?.devices ?? []),
      ...(before?.groups ?? []).filter((group) => !groups.has(group)).flatMap((group) => this.#unbindGroup(id, group)),
      ...[...groups].flatMap((group) => this.#bindGroup(id, group)),
    ])
  }

  /** @returns the rules that name the group. */
  groupChanged(id: string, stored: StoredGroup | undefined): readonly string[] {
    const before = this.#groups.get(id)
    if (stored) this.#groups.set(id, stored)
    else this.#groups.delete(id)
    const rules = this.#byGroup.get(id)
    if (!rules) return []
    this.#bindings.change(changeOf('groups', id, before?.devices ?? [], stored?.devices ?? []))
    return [...rules.inOrder()]
  }

  #bindGroup(rule: string, group: string): readonly BindingChange[] {
    const rules = this.#byGroup.get(group)
    if (rules) {
      rules.add(rule)
      return []
    }
    const ids = new OrderedIds()
    ids.add(rule)
    this.#byGroup.set(group, ids)
    return changeOf('groups', group, [], this.membersOf(group) ?? [])
  }

  #unbindGroup(rule: string, group: string): readonly BindingChange[] {
    const rules = this.#byGroup.get(group)
    rules?.delete(rule)
    if (rules?.size !== 0) return []
    this.#byGroup.delete(group)
    return changeOf('groups', group, this.membersOf(group) ?? [], [])
  }
}

/** Ids that are sorted when they are read. Sorting ten thousand takes 8 ms; with one new id after sorted ones, 1 ms. */
class OrderedIds {
  #ids = new Set<string>()
  #isOrdered = true

  get size(): number {
    return this.#ids.size
  }

  add(id: string): void {
    if (this.#ids.has(id)) return
    this.#ids.add(id)
    this.#isOrdered = false
  }

  delete(id: string): void {
    this.#ids.delete(id)
  }

  inOrder(): Iterable<string> {
    if (!this.#isOrdered) this.#ids = new Set([...this.#ids].sort())
    this.#isOrdered = true
    return this.#ids
  }
}

function isBoundToAll({ devices, groups }: DeviceBinding): boolean {
  return devices === null && groups === null
}

function changeOf(
  kind: BindingChange['kind'],
  id: string,
  before: readonly string[],
  after: readonly string[],
): readonly BindingChange[] {
  return before === after || before.length + after.length === 0 ? [] : [{ kind, id, before, after }]
}
