import type { Bound } from '#model/bound'
import type { StoredGroup } from '#model/group'
import { type BindingChange, Bindings, bindingChanges, type Profile } from '#rules/bindings'

/** Which rules of a tenant mean which devices: by name, by the groups they name, or because they mean all. */
export class RuleBindings<T> {
  readonly #groups = new Map<string, StoredGroup>()
  readonly #bindings = new Bindings<T>()
  /** Rules bound to all devices, and rules by a group they name. */
  readonly #common = new Set<string>()
  readonly #byGroup = new Map<string, Set<string>>()

  profileOf(device: string): Profile<T> {
    return this.#bindings.of(device)
  }

  /** The rules of its devices, in the order of their ids. */
  rulesOf(profile: Profile<T>): readonly string[] {
    const ids = new Set([...this.#common, ...profile.rules])
    for (const group of profile.groups) for (const id of this.#byGroup.get(group) ?? []) ids.add(id)
    return [...ids].sort()
  }

  /** The devices that something is bound to: their names, each once, or all. */
  boundOf(bound: Bound): readonly string[] | '*' {
    if (isBoundToAll(bound)) return '*'
    if (!bound.groups?.length) return bound.devices ?? []
    return [...new Set([...(bound.devices ?? []), ...bound.groups.flatMap((group) => this.membersOf(group) ?? [])])]
  }

  membersOf(group: string): readonly string[] | undefined {
    return this.#groups.get(group)?.devices
  }

  editOf(group: string): number | undefined {
    return this.#groups.get(group)?.edit
  }

  /** Everything that is there, at once, into empty bindings. */
  load(rules: readonly (readonly [id: string, bound: Bound])[], groups: ReadonlyMap<string, StoredGroup>): void {
    for (const [id, stored] of groups) this.#groups.set(id, stored)
    for (const [id, bound] of rules) {
      if (isBoundToAll(bound)) this.#common.add(id)
      for (const group of bound.groups ?? []) this.#byGroup.set(group, (this.#byGroup.get(group) ?? new Set()).add(id))
    }
    this.#bindings.fill({
      rules: rules.map(([id, { devices }]) => [id, devices ?? []]),
      groups: [...this.#byGroup.keys()].map((id) => [id, this.membersOf(id) ?? []]),
    })
  }

  /** Undefined: it was, or is, bound to nothing. */
  bind(id: string, before: Bound | undefined, after: Bound | undefined): void {
    if (after && isBoundToAll(after)) this.#common.add(id)
    else this.#common.delete(id)
    const changes = [...bindingChanges('rules', id, before?.devices ?? [], after?.devices ?? [])]
    const groups = new Set(after?.groups ?? [])
    for (const group of before?.groups ?? []) if (!groups.has(group)) changes.push(...this.#unbindGroup(id, group))
    for (const group of groups) changes.push(...this.#bindGroup(id, group))
    // Together: a rule may name a hundred groups that have the same ten thousand devices.
    this.#bindings.change(changes)
  }

  /** @returns the rules that name it. */
  groupChanged(id: string, stored: StoredGroup | undefined): readonly string[] {
    const before = this.#groups.get(id)
    if (stored) this.#groups.set(id, stored)
    else this.#groups.delete(id)
    const rules = this.#byGroup.get(id)
    if (!rules) return []
    this.#bindings.change(bindingChanges('groups', id, before?.devices ?? [], stored?.devices ?? []))
    return [...rules]
  }

  #bindGroup(rule: string, group: string): readonly BindingChange[] {
    const rules = this.#byGroup.get(group)
    if (rules) {
      rules.add(rule)
      return []
    }
    this.#byGroup.set(group, new Set([rule]))
    return bindingChanges('groups', group, [], this.membersOf(group) ?? [])
  }

  #unbindGroup(rule: string, group: string): readonly BindingChange[] {
    const rules = this.#byGroup.get(group)
    rules?.delete(rule)
    if (rules?.size !== 0) return []
    this.#byGroup.delete(group)
    return bindingChanges('groups', group, this.membersOf(group) ?? [], [])
  }
}

function isBoundToAll({ devices, groups }: Bound): boolean {
  return devices === null && groups === null
}
