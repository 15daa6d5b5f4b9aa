/** What a device is named in: by alarms, and by groups that alarms name. */
export type BindingKind = 'alarms' | 'groups'

/**
 * What devices have in common that are named in the same: thousands of devices, few of these. Whoever works something
 * out for a device keeps it here for all of them.
 */
export class Profile<T> {
  readonly key: string
  readonly alarms: readonly string[]
  readonly groups: readonly string[]
  devices = 0
  /** What was worked out, and at which version of what it depends on. */
  kept: T | undefined
  keptAt = -1

  constructor(key: string, alarms: readonly string[], groups: readonly string[]) {
    this.key = key
    this.alarms = alarms
    this.groups = groups
  }
}

/**
 * Who is named in what, by device: one entry each, 40–50 bytes, however many alarms name it together with others.
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
    for (const kind of ['alarms', 'groups'] as const) {
      for (const [id, devices] of lists[kind]) {
        for (const device of devices) {
          const known = named.get(device)
          if (known) known[kind].push(id)
          else named.set(device, { alarms: kind === 'alarms' ? [id] : [], groups: kind === 'groups' ? [id] : [] })
        }
      }
    }
    for (const [device, { alarms, groups }] of named) {
      const profile = this.#profileOf({ alarms: alarms.sort(), groups: groups.sort() })
      profile.devices++
      this.#byDevice.set(device, profile)
    }
  }

  add(kind: BindingKind, id: string, devices: Iterable<string>): void {
    this.#change(devices, (profile) =>
      this.#profileOf({ ...profile, [kind]: [...profile[kind].filter((other) => other !== id), id].sort() }),
    )
  }

  remove(kind: BindingKind, id: string, devices: Iterable<string>): void {
    this.#change(devices, (profile) =>
      this.#profileOf({ ...profile, [kind]: profile[kind].filter((other) => other !== id) }),
    )
  }

  /** Brings what names `before` to name `after`. */
  replace(kind: BindingKind, id: string, before: readonly string[], after: readonly string[]): void {
    if (before === after) return
    const [old, fresh] = [new Set(before), new Set(after)]
    this.remove(
      kind,
      id,
      before.filter((device) => !fresh.has(device)),
    )
    this.add(
      kind,
      id,
      after.filter((device) => !old.has(device)),
    )
  }

  #change(devices: Iterable<string>, changed: (profile: Profile<T>) => Profile<T>): void {
    // Where one goes, all go that were together with it.
    const moves = new Map<Profile<T>, Profile<T>>()
    for (const device of devices) {
      const from = this.of(device)
      let to = moves.get(from)
      if (!to) {
        to = changed(from)
        moves.set(from, to)
      }
      to.devices++
      from.devices--
      if (to === this.#unnamed) this.#byDevice.delete(device)
      else this.#byDevice.set(device, to)
    }
    for (const from of moves.keys()) {
      if (from.devices === 0) this.#profiles.delete(from.key)
    }
  }

  #profileOf({ alarms, groups }: Pick<Profile<T>, BindingKind>): Profile<T> {
    const key = keyOf(alarms, groups)
    if (key === this.#unnamed.key) return this.#unnamed
    let profile = this.#profiles.get(key)
    if (!profile) {
      profile = new Profile(key, alarms, groups)
      this.#profiles.set(key, profile)
    }
    return profile
  }
}

/** Ids hold neither a comma nor a bar. */
function keyOf(alarms: readonly string[], groups: readonly string[]): string {
  return `${alarms.join()}|${groups.join()}`
}
