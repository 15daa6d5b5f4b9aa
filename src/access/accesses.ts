import type { UserRow } from '#actors/directory/state'
import type { GroupMembers } from '#model/device-names'
import type { StoredGroup } from '#model/group'
import { builtInRoles, isBuiltIn } from '#model/role'
import { type Grant, type Scope, scopeOf } from '#model/scope'

/**
 * The scope of a set of roles in a tenant. Users with equal roles share one object, whose scope changes when a role
 * does.
 */
export interface Access {
  /** The names of the roles, sorted. Identifies this access within its tenant. */
  readonly key: string
  readonly scope: Scope
  /** The tenant's stream offset at which the scope last changed; -1: never. Contract 4.4. */
  readonly since: number
  /** Increases with each change of the scope, so that results of an earlier scope are recognised. */
  readonly version: number
}

/** The rights of a user who may sign in, and the user's mail address. */
export interface PublishedUser extends Pick<UserRow, 'id' | 'tenant' | 'name' | 'roles' | 'email'> {
  /** The offset at which the user's roles last changed; -1: never. */
  readonly rolesSince: number
}

/** Whether both have the same tenant, name and roles, since the same offset. The mail address does not count. */
export function hasSameRights(user: PublishedUser, other: PublishedUser | undefined): boolean {
  if (user === other) return true
  if (user.tenant !== other?.tenant || user.name !== other.name) return false
  return user.rolesSince === other.rolesSince && user.roles.join() === other.roles.join()
}

interface PublishedRole {
  readonly role: string
  readonly grants: readonly Grant[]
  readonly since: number
}

/** The part of a stored group on which rights depend. */
export type PublishedGroup = Pick<StoredGroup, 'devices' | 'edit'>

export interface AccessView {
  readonly tenants: Iterable<{
    readonly tenant: string
    readonly roles: Iterable<PublishedRole>
    readonly groups: ReadonlyMap<string, PublishedGroup>
  }>
  readonly users: Iterable<PublishedUser>
}

export interface AccessViewChanges {
  /** The new scopes of accesses whose scope changed, by tenant and key of the access. */
  readonly redefined: ReadonlyMap<string, ReadonlyMap<string, Scope>>
  readonly endedTenants: ReadonlySet<string>
}

/** The one tenant in which the grant `tenants` has an effect. Contract 2, Model. */
const operatorsTenant = 'default'

/**
 * The committed rights of all users. Requests and sockets are checked against this view, so that a change applies to
 * both at the same time, and no request uses a right that a crash could undo.
 *
 * Obligations of publishers: publish only after the commit, and a tenant before its roles and users. Obligation of code
 * that keeps a result for an access: hold a reference to the access. An access without references is collected and made
 * again on demand. Otherwise users who may create keys could fill the memory with combinations of roles.
 */
export class Accesses {
  #tenants = new Map<string, TenantAccesses>()
  #users = new Map<string, PublishedUser>()

  /**
   * Replaces the whole view, when the server starts or after a failed write. `Access` objects that callers hold are
   * updated, not replaced.
   */
  load(view: AccessView): AccessViewChanges {
    const before = this.#tenants
    this.#tenants = new Map()
    const redefined = new Map<string, ReadonlyMap<string, Scope>>()
    for (const { tenant, roles, groups } of view.tenants) {
      const accesses = before.get(tenant) ?? new TenantAccesses(tenant)
      this.#tenants.set(tenant, accesses)
      accesses.replaceGroups(groups)
      const changed = accesses.replace(roles)
      if (changed.size > 0) redefined.set(tenant, changed)
    }
    this.#users = new Map([...view.users].map((user) => [user.id, user]))
    const ended = [...before].filter(([tenant]) => !this.#tenants.has(tenant))
    for (const [, accesses] of ended) accesses.end()
    return { redefined, endedTenants: new Set(ended.map(([tenant]) => tenant)) }
  }

  publishTenant(tenant: string, exists: boolean): void {
    const known = this.#tenants.get(tenant)
    if (exists && !known) this.#tenants.set(tenant, new TenantAccesses(tenant))
    if (exists || !known) return
    this.#tenants.delete(tenant)
    known.end()
    for (const user of this.#users.values()) if (user.tenant === tenant) this.#users.delete(user.id)
  }

  hasTenant(tenant: string): boolean {
    return this.#tenants.has(tenant)
  }

  /**
   * `grants` undefined: the role was deleted. `since`: the stream offset from which the change is effective. Returns
   * the new scope of each access that changed.
   */
  publishRole(
    tenant: string,
    role: string,
    grants: readonly Grant[] | undefined,
    since: number,
  ): ReadonlyMap<string, Scope> {
    return this.#tenants.get(tenant)?.publish(role, grants, since) ?? new Map()
  }

  /**
   * `group` undefined: the group was deleted. An access does not change before the roles that name the group are
   * published again: a commit that changes members stores these roles after the group.
   */
  publishGroup(tenant: string, id: string, group: PublishedGroup | undefined): void {
    this.#tenants.get(tenant)?.publishGroup(id, group)
  }

  /** Undefined if the tenant has no such role. */
  grantsOf(tenant: string, role: string): readonly Grant[] | undefined {
    return this.#tenants.get(tenant)?.grantsOf(role)
  }

  /** `user` undefined: the user was deleted, or is disabled. Returns whether the user's rights changed. */
  publishUser(user: PublishedUser | undefined, id: string): boolean {
    const before = this.user(id)
    if (user) this.#users.set(id, user)
    else this.#users.delete(id)
    return before ? !isSameAccess(before, user) : user !== undefined
  }

  /** Undefined if there is no such active user, or if the user's tenant was deleted. */
  user(id: string): PublishedUser | undefined {
    const user = this.#users.get(id)
    return user && this.#tenants.has(user.tenant) ? user : undefined
  }

  /** The number of accesses that are not collected. For tests that check the bound. */
  get count(): number {
    return [...this.#tenants.values()].reduce((sum, { count }) => sum + count, 0)
  }

  /** The access of these roles in this tenant; no rights if there is no such tenant. */
  of(tenant: string, roles: readonly string[]): Access {
    const accesses = this.#tenants.get(tenant)
    return accesses ? accesses.of(roles) : { key: keyOf(roles), scope: scopeOf([]), since: never, version: 0 }
  }
}

const never = -1

/** An access that callers hold: it is changed in place. */
interface LiveAccess extends Access {
  readonly roles: readonly string[]
  scope: Scope
  since: number
  version: number
}

function redefine(access: LiveAccess, scope: Scope, since: number): void {
  Object.assign(access, { scope, since, version: access.version + 1 })
}

type HeldAccesses = Map<string, WeakRef<LiveAccess>>

/**
 * One registry for all tenants, which is never released. If V8 collects a registry with pending callbacks, it stops the
 * callbacks of every registry in the process (seen with Node 20 and 22).
 */
const collected = new FinalizationRegistry<{ readonly accesses: HeldAccesses; readonly key: string }>((held) => {
  // The access may have been made again in the meantime.
  if (!held.accesses.get(held.key)?.deref()) held.accesses.delete(held.key)
})

/** The roles of one tenant, and the accesses of their combinations. */
class TenantAccesses {
  readonly #isTenantsEffective: boolean
  #roles = new Map<string, PublishedRole>()
  readonly #groups = new Map<string, LazyMembers>()
  /** Accesses by key, as long as other code references them. */
  readonly #accesses: HeldAccesses = new Map()

  constructor(tenant: string) {
    this.#isTenantsEffective = tenant === operatorsTenant
  }

  of(roles: readonly string[]): Access {
    const key = keyOf(roles)
    const known = this.#accesses.get(key)?.deref()
    if (known) return known
    const names = [...new Set(roles)]
    const access = { key, roles: names, scope: this.#scopeOf(names), since: this.#sinceOf(names), version: 0 }
    this.#accesses.set(key, new WeakRef(access))
    collected.register(access, { accesses: this.#accesses, key })
    return access
  }

  get count(): number {
    return this.#accesses.size
  }

  grantsOf(role: string): readonly Grant[] | undefined {
    return this.#roles.get(role)?.grants
  }

  publish(role: string, grants: readonly Grant[] | undefined, since: number): ReadonlyMap<string, Scope> {
    if (grants) this.#roles.set(role, { role, grants, since })
    else this.#roles.delete(role)
    return this.#redefine(
      (access) => access.roles.includes(role),
      () => since,
    )
  }

  publishGroup(id: string, group: PublishedGroup | undefined): void {
    if (!group) this.#groups.delete(id)
    else if (this.#groups.get(id)?.edit !== group.edit) this.#groups.set(id, new LazyMembers(id, group))
  }

  replaceGroups(groups: ReadonlyMap<string, PublishedGroup>): void {
    for (const id of this.#groups.keys()) if (!groups.has(id)) this.#groups.delete(id)
    for (const [id, group] of groups) this.publishGroup(id, group)
  }

  replace(roles: Iterable<PublishedRole>): ReadonlyMap<string, Scope> {
    this.#roles = new Map([...roles].map((published) => [published.role, published]))
    return this.#redefine(
      () => true,
      (access) => this.#sinceOf(access.roles),
    )
  }

  /** Accesses that are still referenced allow nothing from now on. */
  end(): void {
    for (const access of this.#held()) redefine(access, scopeOf([]), access.since)
    this.#accesses.clear()
  }

  #redefine(isAffected: (access: LiveAccess) => boolean, sinceOf: (access: LiveAccess) => number): Map<string, Scope> {
    const changed = new Map<string, Scope>()
    for (const access of this.#held()) {
      if (!isAffected(access)) continue
      const scope = this.#scopeOf(access.roles)
      if (scope.fingerprint === access.scope.fingerprint) continue
      redefine(access, scope, Math.max(access.since, sinceOf(access)))
      changed.set(access.key, scope)
    }
    return changed
  }

  *#held(): Iterable<LiveAccess> {
    for (const known of this.#accesses.values()) {
      const access = known.deref()
      if (access) yield access
    }
  }

  #scopeOf(roles: readonly string[]): Scope {
    const grants = roles.flatMap((role) => this.#grantsOf(role))
    return scopeOf(grants, {
      isTenantsEffective: this.#isTenantsEffective,
      groupOf: (group) => this.#groups.get(group),
    })
  }

  #sinceOf(roles: readonly string[]): number {
    return Math.max(never, ...roles.map((role) => this.#roles.get(role)?.since ?? never))
  }

  #grantsOf(role: string): readonly Grant[] {
    return isBuiltIn(role) ? builtInRoles[role] : (this.#roles.get(role)?.grants ?? [])
  }
}

/** Makes the set of members on first use, because grants name only few of the groups. */
class LazyMembers implements GroupMembers {
  readonly id: string
  readonly edit: number
  readonly #devices: readonly string[]
  #members: ReadonlySet<string> | undefined

  constructor(id: string, { devices, edit }: PublishedGroup) {
    this.id = id
    this.edit = edit
    this.#devices = devices
  }

  get members(): ReadonlySet<string> {
    this.#members ??= new Set(this.#devices)
    return this.#members
  }
}

/** No two sets of roles share a key: role names contain no comma. */
function keyOf(roles: readonly string[]): string {
  return [...new Set(roles)].sort().join()
}

function isSameAccess(user: PublishedUser, other: PublishedUser | undefined): boolean {
  return other !== undefined && user.tenant === other.tenant && keyOf(user.roles) === keyOf(other.roles)
}
