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
 * Whether a scope includes everything that these grants allow: users may not give, edit or reset more than their own
 * grants allow. Contract 2, Model.
 *
 * `*` as a resource is covered only by `*`, because it also means resources that later releases add. A grant without
 * devices or services still permits its resources as such, and its devices or services as a whole.
 */
export function covers(mine: Scope, theirs: readonly Grant[]): boolean {
  const held = new GrantNames(mine.grants.map(reachOf))
  const halves = [new ActionHalf(mine, held, 0), new ActionHalf(mine, held, 1)]
  return theirs.every((grant) => {
    const reach = reachOf(grant)
    return halves.every((half) => half.covers(grant, reach))
  })
}

/**
 * Finds the indexes of the grants that hold a name. Built when first needed: often a single grant covers the other one.
 */
class GrantNames {
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

/** Actions are checked in two halves: a bit for each action on each resource, `*` included, must fit into 32. */
const actionsOfHalf = 2

/**
 * The grants of a scope, their permissions as bits. A role may have 100 grants with 20 000 names, each grant with other
 * permissions: all permissions are compared at once, and each name is looked up once.
 */
class ActionHalf {
  readonly #half: 0 | 1
  readonly #held: GrantNames
  readonly #given: readonly number[]
  readonly #all: number

  constructor(mine: Scope, held: GrantNames, half: 0 | 1) {
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
    // Devices as a whole (contract 3.1: services don't narrow them), services as a whole, and then the products
    // themselves.
    const places = devices.map((device) => this.#held.placesOfDevice(device))
    if (!places.every((held) => this.#isGiven(held, wanted))) return false
    if (!services.every((service) => this.#isGiven(this.#held.placesOfService(service), wanted))) return false
    // Devices with the same grants have the same answer.
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

  /** `isHeld`: `*` also gives every resource by name. */
  #bitsOf(grant: Grant, isHeld: boolean): number {
    let bits = 0
    for (const [resource, action] of permissionsOf(grant)) {
      const place = actions.indexOf(action) - this.#half * actionsOfHalf
      if (place < 0 || place >= actionsOfHalf) continue
      for (const each of resource === '*' && isHeld ? anyResource : [resource]) bits |= bitOf(each, place)
    }
    return bits
  }

  /** Outside of tenant `default` no grant gives `tenants`. */
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

/**
 * For each name, the indexes of the lists that hold it. Lists that hold every name come first; for `*` there are only
 * these.
 */
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
