/** Devices that something names from now on, or names no more. */
export interface BindingChange {
  readonly kind: BindingKind
  readonly id: string
  /** Each once. */
  readonly devices: readonly string[]
  readonly isNamed: boolean
}

/** What a device is named in: by rules, which are rules or functions, and by groups that rules name. */
export type BindingKind = 'rules' | 'groups'

/**
 * What devices have in common that are named in the same: thousands of devices, few of these. Whoever works something
 * out for a device keeps it here for all of them.
 */
export class Profile<T> {
  readonly key: string
  readonly rules: readonly string[]
  readonly groups: readonly string[]
  devices = 0
  /** What was worked out, and at which version of what it depends on. */
  kept: T | undefined
  keptAt = -1

  constructor(key: string, rules: readonly string[], groups: readonly string[]) {
    this.key = key
    this.rules = rules
    this.groups = groups
  }
}

/**
 * Who is named in what, by device: one entry each, 40–50 bytes, however many rules name it together with others.
 */
export class Bindings<T> {
  readonly #profiles = new Map<string, Profile<T>>()
  readonly #byDevice = new Map<string, Profile<T>>()
  /** Of every device that nothing names. */
  readonly #unnamed = new Profile<T>(keyOf([], []), [], [])

  of(device: string): Profile<T> {
    return this.#byDevice.get(device) ?? this.#unnamed
  }

  /** Everything at once, into empty bindings: one step for each device, not one for each time it is named. */
  fill(lists: Readonly<Record<BindingKind, readonly (readonly [id: string, devices: readonly string[]])[]>>): void {
    const named = new Map<string, Record<BindingKind, string[]>>()
    for (const kind of ['rules', 'groups'] as const) {
      for (const [id, devices] of lists[kind]) {
        for (const device of devices) {
          const known = named.get(device)
          if (known) known[kind].push(id)
          else named.set(device, { rules: kind === 'rules' ? [id] : [], groups: kind === 'groups' ? [id] : [] })
        }
      }
    }
    for (const [device, { rules, groups }] of named) {
      const profile = this.#profileOf({ rules: rules.sort(), groups: groups.sort() })
      profile.devices++
      this.#byDevice.set(device, profile)
    }
  }

  /**
   * All at once: one step for each device, not one for each time it is named.
   * @returns how many devices are named in something else now
   */
  change(changes: readonly BindingChange[]): number {
    const concerned = new Map<string, number[]>()
    for (const [place, { devices }] of changes.entries()) {
      for (const device of devices) {
        const places = concerned.get(device)
        if (places) places.push(place)
        else concerned.set(device, [place])
      }
    }
    // Where one goes, all go that were together with it and change alike.
    const moves = new Map<Profile<T>, Map<string, Profile<T>>>()
    let moved = 0
    for (const [device, places] of concerned) {
      const from = this.of(device)
      let ways = moves.get(from)
      if (!ways) {
        ways = new Map()
        moves.set(from, ways)
      }
      const way = places.join()
      let to = ways.get(way)
      if (!to) {
        to = this.#profileOf(changed(from, changes, places))
        ways.set(way, to)
      }
      if (to !== from) {
        moved++
        this.#move(device, from, to)
      }
    }
    for (const from of moves.keys()) if (from.devices === 0) this.#profiles.delete(from.key)
    return moved
  }

  #move(device: string, from: Profile<T>, to: Profile<T>): void {
    to.devices++
    from.devices--
    if (to === this.#unnamed) this.#byDevice.delete(device)
    else this.#byDevice.set(device, to)
  }

  #profileOf({ rules, groups }: Pick<Profile<T>, BindingKind>): Profile<T> {
    const key = keyOf(rules, groups)
    if (key === this.#unnamed.key) return this.#unnamed
    let profile = this.#profiles.get(key)
    if (!profile) {
      profile = new Profile(key, rules, groups)
      this.#profiles.set(key, profile)
    }
    return profile
  }
}

/** What brings `before` to `after`. */
export function bindingChanges(
  kind: BindingKind,
  id: string,
  before: readonly string[],
  after: readonly string[],
): readonly BindingChange[] {
  if (before === after) return []
  const [old, fresh] = [new Set(before), new Set(after)]
  return [
    { kind, id, devices: before.filter((device) => !fresh.has(device)), isNamed: false },
    { kind, id, devices: after.filter((device) => !old.has(device)), isNamed: true },
  ]
}

/** In what a device is named behind those of the changes that concern it. */
function changed(
  { rules, groups }: Pick<Profile<unknown>, BindingKind>,
  changes: readonly BindingChange[],
  places: readonly number[],
): Pick<Profile<unknown>, BindingKind> {
  const named = { rules: new Set(rules), groups: new Set(groups) }
  for (const place of places) {
    const { kind, id, isNamed } = changes[place] as BindingChange
    if (isNamed) named[kind].add(id)
    else named[kind].delete(id)
  }
  return { rules: [...named.rules].sort(), groups: [...named.groups].sort() }
}

/** Ids hold neither a comma nor a bar. */
function keyOf(rules: readonly string[], groups: readonly string[]): string {
  return `${rules.join()}|${groups.join()}`
}
