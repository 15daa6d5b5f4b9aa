import {
  actions,
  type Grant,
  holds,
  type Names,
  permissionsOf,
  type Reach,
  reachOf,
  resources,
  type Scope,
} from '#model/scope'

/**
 * Whether a scope allows everything that some grants allow: nobody may give, edit or reset beyond his own grants.
 * Contract 2, Model.
 *
 * `*` as a resource is covered only by `*`, because it means more than what exists today. A grant also says something
 * where its products are empty: that a resource may be entered at all, and devices or services as a whole.
 */
export function covers(mine: Scope, theirs: readonly Grant[]): boolean {
  const held = new HeldNames(mine.grants.map(reachOf))
  const halves = [new Half(mine, held, 0), new Half(mine, held, 1)]
  return theirs.every((grant) => {
    const reach = reachOf(grant)
    return halves.every((half) => half.covers(grant, reach))
  })
}

/** By name the places of the grants that hold it. Most scopes are asked what one grant answers, and never need it. */
class HeldNames {
  readonly reaches: readonly Reach[]
  #devices: ReadonlyMap<string, readonly number[]> | undefined
  #services: ReadonlyMap<string, readonly number[]> | undefined

  constructor(reaches: readonly Reach[]) {
    this.reaches = reaches
  }

  placesOfDevice(device: string): readonly number[] {
    this.#devices ??= placesByName(this.reaches.map(({ devices }) => devices))
    return placesOf(this.#devices, device)
  }

  placesOfService(service: string): readonly number[] {
    this.#services ??= placesByName(this.reaches.map(({ services }) => services))
    return placesOf(this.#services, service)
  }
}

/** Half of the actions: a bit for each of them on each resource, `*` among these, has to fit into 32. */
const actionsOfHalf = 2

/**
 * A scope's grants, each with the permissions it gives as bits. Roles hold a hundred grants with some ten thousand names:
 * permissions are compared together, and names are looked up by the grants that hold them.
 */
class Half {
  readonly #half: 0 | 1
  readonly #held: HeldNames
  readonly #given: readonly number[]
  readonly #all: number

  constructor(mine: Scope, held: HeldNames, half: 0 | 1) {
    this.#half = half
    this.#held = held
    const effective = this.#effectiveIn(mine)
    this.#given = mine.grants.map((grant) => this.#bitsOf(grant, true) & effective)
    this.#all = this.#given.reduce((bits, given) => bits | given, 0)
  }

  covers(grant: Grant, reach: Reach): boolean {
    const wanted = this.#bitsOf(grant, false)
    if ((this.#all & wanted) !== wanted) return false
    if (wanted === 0 || this.#isInOne(reach, wanted)) return true
    const [devices, services] = [namesIn(reach.devices), namesIn(reach.services)]
    // Devices as a whole (contract 3.1: services don't narrow them), services as a whole, and then the products themselves.
    const places = devices.map((device) => this.#held.placesOfDevice(device))
    if (!places.every((held) => this.#isGiven(held, wanted))) return false
    if (!services.every((service) => this.#isGiven(this.#held.placesOfService(service), wanted))) return false
    // Of devices that the same grants hold, one stands for all.
    const different = new Map(places.map((held) => [held.join(), held])).values()
    return services.length === 0 || this.#areProductsGiven([...different], services, wanted)
  }

  #areProductsGiven(places: readonly (readonly number[])[], services: readonly string[], wanted: number): boolean {
    return services.every((service) => {
      const given = new Int32Array(this.#given.length)
      for (const place of this.#held.placesOfService(service)) given[place] = this.#given[place] as number
      return places.every(
        (held) => (held.reduce((bits, place) => bits | (given[place] as number), 0) & wanted) === wanted,
      )
    })
  }

  #isInOne({ devices, services }: Reach, wanted: number): boolean {
    return this.#held.reaches.some(
      (mine, place) =>
        ((this.#given[place] as number) & wanted) === wanted &&
        areHeld(devices, mine.devices) &&
        areHeld(services, mine.services),
    )
  }

  #isGiven(places: readonly number[], wanted: number): boolean {
    return (places.reduce((bits, place) => bits | (this.#given[place] as number), 0) & wanted) === wanted
  }

  /** `isHeld`: `*` gives what is there by name too. */
  #bitsOf(grant: Grant, isHeld: boolean): number {
    let bits = 0
    for (const [resource, action] of permissionsOf(grant)) {
      const place = actions.indexOf(action) - this.#half * actionsOfHalf
      if (place < 0 || place >= actionsOfHalf) continue
      for (const each of resource === '*' && isHeld ? anyResource : [resource]) bits |= bitOf(each, place)
    }
    return bits
  }

  /** Outside of tenant `default` nothing gives `tenants`. */
  #effectiveIn(mine: Scope): number {
    let bits = 0
    for (let place = 0; place < actionsOfHalf; place++) {
      const action = actions[this.#half * actionsOfHalf + place] as (typeof actions)[number]
      for (const each of anyResource) {
        if (each === '*' || mine.reaches(each, action).length > 0) bits |= bitOf(each, place)
      }
    }
    return bits
  }
}

const anyResource = [...resources, '*'] as const

function bitOf(resource: (typeof anyResource)[number], place: number): number {
  return 1 << (anyResource.indexOf(resource) * actionsOfHalf + place)
}

function areHeld(names: Names, holder: Names): boolean {
  if (holder === '*') return true
  if (names === '*' || names.size > holder.size) return false
  for (const name of names) if (!holds(holder, name)) return false
  return true
}

/** By name the places of the lists that hold it; by `*` those that hold every name, which are in all others too. */
function placesByName(lists: readonly Names[]): ReadonlyMap<string, readonly number[]> {
  const any = lists.flatMap((names, place) => (names === '*' ? [place] : []))
  const byName = new Map<string, number[]>([['*', any]])
  for (const [place, names] of lists.entries()) {
    for (const name of names === '*' ? [] : names) {
      const places = byName.get(name)
      if (places) places.push(place)
      else byName.set(name, [...any, place])
    }
  }
  return byName
}

function placesOf(byName: ReadonlyMap<string, readonly number[]>, name: string): readonly number[] {
  return byName.get(name) ?? (byName.get('*') as readonly number[])
}

function namesIn(names: Names): readonly string[] {
  return names === '*' ? ['*'] : [...names]
}
