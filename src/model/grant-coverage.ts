import { DeviceNames, type GroupMembers, type Names } from '#model/device-names'
import { getOrInsert } from '#model/map-values'
import { actions, type Grant, permissionsOf, type Reach, resources, type Scope } from '#model/scope'

/**
 * Whether a scope includes everything that these grants allow: users must not give, edit or reset more than their own
 * grants allow. Contract 2, Model.
 *
 * `*` as a resource is covered only by `*`, because it also means resources that later releases add. A grant whose
 * list of devices or services is empty is compared too: it still permits its actions on the resource in general, and on
 * the items of the other list.
 */
export function covers(mine: Scope, theirs: readonly Grant[]): boolean {
  return areCovered(mine, new GrantNames(mine.reachOfGrants, false), theirs)
}

/**
 * Whether a scope includes what these grants would allow on these devices. Here the scope includes the members of its
 * groups. In `covers` the scope does not, because a grant by name would outlast a membership.
 */
export function coversOn(mine: Scope, grants: readonly Grant[], devices: readonly string[]): boolean {
  const theirs = grants.map((grant) => ({ ...grant, devices: [...devices], groups: [] }))
  return areCovered(mine, new GrantNames(mine.reachOfGrants, true), theirs)
}

function areCovered(mine: Scope, held: GrantNames, theirs: readonly Grant[]): boolean {
  const halves = [new ActionHalf(mine, held, 0), new ActionHalf(mine, held, 1)]
  return theirs.every((grant) => {
    const terms = termsOf(grant)
    return halves.every((half) => half.covers(grant, terms))
  })
}

/** The names in a grant, or `*` for all. `devices` may also contain `PREFIX*`, and groups as `/` and their id. */
interface Terms {
  readonly devices: readonly string[]
  readonly services: readonly string[]
}

function termsOf({ devices, services, groups = [] }: Grant): Terms {
  return {
    devices: devices.includes('*') ? ['*'] : [...new Set([...devices, ...groups.map(groupTerm)])],
    services: services.includes('*') ? ['*'] : [...new Set(services)],
  }
}

function groupTerm(id: string): string {
  return `/${id}`
}

/**
 * Finds the indexes of the grants that hold a name. The maps are built when they are first needed: often one grant of
 * the scope alone covers the given grant.
 */
class GrantNames {
  readonly reaches: readonly Reach[]
  readonly #areMembersHeld: boolean
  #devices: DeviceTerms | undefined
  #services: ReadonlyMap<string, readonly number[]> | undefined

  constructor(reaches: readonly Reach[], areMembersHeld: boolean) {
    this.reaches = reaches
    this.#areMembersHeld = areMembersHeld
  }

  placesOfDevice(term: string): readonly number[] {
    this.#devices ??= new DeviceTerms(this.reaches, this.#areMembersHeld)
    return this.#devices.placesOf(term)
  }

  placesOfService(service: string): readonly number[] {
    this.#services ??= placesByName(this.reaches.map(({ services }) => services as ReadonlySet<string> | '*'))
    return placesOf(this.#services, service)
  }
}

/** The indexes of grants by the devices, prefixes and groups that they name. */
class DeviceTerms {
  readonly #byTerm: ReadonlyMap<string, readonly number[]>
  readonly #byPrefix = new Map<string, number[]>()
  readonly #groups: { readonly members: GroupMembers['members']; readonly place: number }[] = []

  constructor(reaches: readonly Reach[], areMembersHeld: boolean) {
    this.#byTerm = placesByName(
      reaches.map(({ devices }) => (devices instanceof DeviceNames ? namedIn(devices) : devices)),
    )
    for (const [place, { devices }] of reaches.entries()) {
      if (!(devices instanceof DeviceNames)) continue
      for (const prefix of devices.prefixes) getOrInsert(this.#byPrefix, prefix, () => []).push(place)
      if (areMembersHeld) this.#groups.push(...devices.groups.map(({ members }) => ({ members, place })))
    }
  }

  placesOf(term: string): readonly number[] {
    const places = placesOf(this.#byTerm, term)
    if (this.#byPrefix.size + this.#groups.length === 0) return places
    const all = [...places]
    for (let length = 1; length <= term.length && this.#byPrefix.size > 0; length++) {
      all.push(...(this.#byPrefix.get(term.slice(0, length)) ?? []))
    }
    for (const { members, place } of this.#groups) if (members.has(term)) all.push(place)
    return all
  }
}

function namedIn({ names, groups }: DeviceNames): ReadonlySet<string> {
  return groups.length === 0 ? names : new Set([...names, ...groups.map(({ id }) => groupTerm(id))])
}

/** Actions are checked in two halves: a bit for each action on each resource, `*` included, must fit into 32 bits. */
const actionsOfHalf = 2

/**
 * The grants of a scope, with their permissions as bits. A role may have 100 grants with 20 000 names, each grant with
 * other permissions. So all permissions are compared at once, and each name is looked up once.
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

  covers(grant: Grant, terms: Terms): boolean {
    const wanted = this.#bitsOf(grant, false)
    if ((this.#all & wanted) !== wanted) return false
    if (wanted === 0 || this.#isInOne(terms, wanted)) return true
    const { devices, services } = terms
    // First devices as a whole (contract 3.1: services don't narrow them), then services as a whole, then each service
    // of each device.
    const places = devices.map((device) => this.#held.placesOfDevice(device))
    if (!places.every((held) => this.#isGiven(held, wanted))) return false
    if (!services.every((service) => this.#isGiven(this.#held.placesOfService(service), wanted))) return false
    // Devices that are in the same grants have the same result.
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

  #isInOne({ devices, services }: Terms, wanted: number): boolean {
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

  /** `isHeld`: the caller has the grant, so `*` also gives every single resource. */
  #bitsOf(grant: Grant, isHeld: boolean): number {
    let bits = 0
    for (const [resource, action] of permissionsOf(grant)) {
      const place = actions.indexOf(action) - this.#half * actionsOfHalf
      if (place < 0 || place >= actionsOfHalf) continue
      for (const each of resource === '*' && isHeld ? anyResource : [resource]) bits |= bitOf(each, place)
    }
    return bits
  }

  /** The permissions that have an effect: outside of tenant `default` no grant gives `tenants`. */
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

/** Only compares names; prefixes and groups are left to the indexes. */
function areHeld(terms: readonly string[], holder: Names): boolean {
  if (holder === '*') return true
  const names = holder instanceof DeviceNames ? holder.names : holder
  return terms.length <= names.size && terms.every((term) => names.has(term))
}

/**
 * For each name, the indexes of the lists that hold it. Lists that hold every name come first; for `*` there are only
 * these.
 */
function placesByName(lists: readonly (ReadonlySet<string> | '*')[]): ReadonlyMap<string, readonly number[]> {
  const any = lists.flatMap((names, place) => (names === '*' ? [place] : []))
  const byName = new Map<string, number[]>([['*', any]])
  for (const [place, names] of lists.entries()) {
    for (const name of names === '*' ? [] : names) getOrInsert(byName, name, () => [...any]).push(place)
  }
  return byName
}

function placesOf(byName: ReadonlyMap<string, readonly number[]>, name: string): readonly number[] {
  return byName.get(name) ?? (byName.get('*') as readonly number[])
}
