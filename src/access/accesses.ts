import { builtInRoles, isBuiltIn } from '#model/role'
import { type Grant, type Scope, scopeOf } from '#model/scope'

/** What holding certain roles of a tenant means. One object for all who hold the same: what it says changes with them. */
export interface Access {
  /** The names of the roles, sorted: the name of this access within its tenant. */
  readonly key: string
  readonly scope: Scope
  /** The tenant's stream offset at which it last came to mean something else; -1 never. Contract 4.4. */
  readonly since: number
  /** Another number whenever the scope is another: who remembers what he found out by it looks here first. */
  readonly version: number
}

/** A user who can be signed in, as far as his rights go, and where mails reach him. */
export interface PublishedUser {
  readonly id: string
  readonly tenant: string
  readonly name: string
  readonly roles: readonly string[]
  /** The offset at which he came to hold other roles; -1 never. */
  readonly rolesSince: number
  /** Null: nowhere. */
  readonly email: string | null
}

/** Whether both say the same of who he is and what he may do, and since when. Where mails reach him is no matter of that. */
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

export interface AccessView {
  readonly tenants: Iterable<{ readonly tenant: string; readonly roles: Iterable<PublishedRole> }>
  readonly users: Iterable<PublishedUser>
}

/** What is not as it was before. */
export interface AccessChanges {
  /** By tenant and key: accesses that mean something else now. */
  readonly redefined: ReadonlyMap<string, ReadonlyMap<string, Scope>>
  /** Ids of users who hold other roles now, or are gone. */
  readonly moved: ReadonlySet<string>
  readonly endedTenants: ReadonlySet<string>
}

/** Where `tenants` means something. Contract 2, Model. */
const operatorsTenant = 'default'

/**
 * Who may do what, as far as it is stored: the one view by which requests and sockets are judged, so that both change at
 * one moment and nobody acts on a right that a crash takes back.
 *
 * Obligations of whoever publishes: only after the commit; a tenant before its roles and users. Of whoever judges by an
 * access for longer than a moment: that he holds it. One that nobody holds is forgotten, and made anew when it is asked
 * for: else whoever may make keys could fill the memory with sets of roles that were held once.
 */
export class Accesses {
  #tenants = new Map<string, TenantAccesses>()
  #users = new Map<string, PublishedUser>()

  /** Everything anew, as after a start or a failed write. Objects that were given out before stay the right ones. */
  load(view: AccessView): AccessChanges {
    const before = { tenants: this.#tenants, users: this.#users }
    this.#tenants = new Map()
    const redefined = new Map<string, ReadonlyMap<string, Scope>>()
    for (const { tenant, roles } of view.tenants) {
      const accesses = before.tenants.get(tenant) ?? new TenantAccesses(tenant)
      this.#tenants.set(tenant, accesses)
      const changed = accesses.replace(roles)
      if (changed.size > 0) redefined.set(tenant, changed)
    }
    this.#users = new Map([...view.users].map((user) => [user.id, user]))
    const ended = [...before.tenants].filter(([tenant]) => !this.#tenants.has(tenant))
    for (const [, accesses] of ended) accesses.end()
    const moved = [...before.users.values()].filter((user) => !isSameAccess(user, this.user(user.id)))
    return {
      redefined,
      moved: new Set(moved.map(({ id }) => id)),
      endedTenants: new Set(ended.map(([tenant]) => tenant)),
    }
  }

  publishTenant(tenant: string, isThere: boolean): void {
    const known = this.#tenants.get(tenant)
    if (isThere && !known) this.#tenants.set(tenant, new TenantAccesses(tenant))
    if (isThere || !known) return
    this.#tenants.delete(tenant)
    known.end()
    for (const user of this.#users.values()) if (user.tenant === tenant) this.#users.delete(user.id)
  }

  hasTenant(tenant: string): boolean {
    return this.#tenants.has(tenant)
  }

  /**
   * `grants` undefined: the role is gone. `since`: the offset that everybody who is connected has been told.
   * Returns what each access that is another now has become.
   */
  publishRole(
    tenant: string,
    role: string,
    grants: readonly Grant[] | undefined,
    since: number,
  ): ReadonlyMap<string, Scope> {
    return this.#tenants.get(tenant)?.publish(role, grants, since) ?? new Map()
  }

  /** `user` undefined: gone, or not to be signed in any more. Returns whether what he holds is another. */
  publishUser(user: PublishedUser | undefined, id: string): boolean {
    const before = this.user(id)
    if (user) this.#users.set(id, user)
    else this.#users.delete(id)
    return before ? !isSameAccess(before, user) : user !== undefined
  }

  /** Undefined too where his tenant is gone. */
  user(id: string): PublishedUser | undefined {
    const user = this.#users.get(id)
    return user && this.#tenants.has(user.tenant) ? user : undefined
  }

  /** How many accesses are known, for whoever wants to see that they are bounded. */
  get count(): number {
    return [...this.#tenants.values()].reduce((sum, { count }) => sum + count, 0)
  }

  /** What these roles mean there; nothing, where there is no such tenant. */
  of(tenant: string, roles: readonly string[]): Access {
    const accesses = this.#tenants.get(tenant)
    return accesses ? accesses.of(roles) : new LiveAccess(keyOf(roles), [], scopeOf([]), never)
  }
}

const never = -1

type HeldAccesses = Map<string, WeakRef<LiveAccess>>

/**
 * One, and never let go: when a registry is collected while it has something to tell, V8 tells nothing to any registry of the
 * process from then on (seen with Node 20 and 22).
 */
const forgotten = new FinalizationRegistry<{ readonly accesses: HeldAccesses; readonly key: string }>((held) => {
  // It may have been made anew meanwhile.
  if (!held.accesses.get(held.key)?.deref()) held.accesses.delete(held.key)
})

/** The roles of one tenant, and what their combinations come to. */
class TenantAccesses {
  readonly #isTenantsEffective: boolean
  #roles = new Map<string, PublishedRole>()
  /** By key, for as long as somebody holds them. */
  readonly #accesses: HeldAccesses = new Map()

  constructor(tenant: string) {
    this.#isTenantsEffective = tenant === operatorsTenant
  }

  of(roles: readonly string[]): Access {
    const key = keyOf(roles)
    const known = this.#accesses.get(key)?.deref()
    if (known) return known
    const names = [...new Set(roles)]
    const made = new LiveAccess(key, names, this.#scopeOf(names), this.#sinceOf(names))
    this.#accesses.set(key, new WeakRef(made))
    forgotten.register(made, { accesses: this.#accesses, key })
    return made
  }

  get count(): number {
    return this.#accesses.size
  }

  publish(role: string, grants: readonly Grant[] | undefined, since: number): ReadonlyMap<string, Scope> {
    if (grants) this.#roles.set(role, { role, grants, since })
    else this.#roles.delete(role)
    return this.#redefine(
      (access) => access.roles.includes(role),
      () => since,
    )
  }

  replace(roles: Iterable<PublishedRole>): ReadonlyMap<string, Scope> {
    this.#roles = new Map([...roles].map((published) => [published.role, published]))
    return this.#redefine(
      () => true,
      (access) => this.#sinceOf(access.roles),
    )
  }

  /** Whoever still holds one of them may do nothing by it from now on. */
  end(): void {
    for (const access of this.#held()) access.redefine(scopeOf([]), access.since)
    this.#accesses.clear()
  }

  #redefine(isMeant: (access: LiveAccess) => boolean, sinceOf: (access: LiveAccess) => number): Map<string, Scope> {
    const changed = new Map<string, Scope>()
    for (const access of this.#held()) {
      if (!isMeant(access)) continue
      const scope = this.#scopeOf(access.roles)
      if (scope.fingerprint === access.scope.fingerprint) continue
      access.redefine(scope, Math.max(access.since, sinceOf(access)))
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
    return scopeOf(grants, { isTenantsEffective: this.#isTenantsEffective })
  }

  #sinceOf(roles: readonly string[]): number {
    return Math.max(never, ...roles.map((role) => this.#roles.get(role)?.since ?? never))
  }

  #grantsOf(role: string): readonly Grant[] {
    return isBuiltIn(role) ? builtInRoles[role] : (this.#roles.get(role)?.grants ?? [])
  }
}

class LiveAccess implements Access {
  readonly key: string
  readonly roles: readonly string[]
  scope: Scope
  since: number
  version = 0

  constructor(key: string, roles: readonly string[], scope: Scope, since: number) {
    this.key = key
    this.roles = roles
    this.scope = scope
    this.since = since
  }

  redefine(scope: Scope, since: number): void {
    this.scope = scope
    this.since = since
    this.version++
  }
}

/** No role has a comma in its name. */
function keyOf(roles: readonly string[]): string {
  return [...new Set(roles)].sort().join()
}

function isSameAccess(user: PublishedUser, other: PublishedUser | undefined): boolean {
  return other !== undefined && user.tenant === other.tenant && keyOf(user.roles) === keyOf(other.roles)
}
