import type { Access, Accesses, PublishedUser } from '#access/accesses'
import { operator } from '#access/operator'
import { tenantAddress } from '#actors/tenant/commands'
import { defaultTenant, isExpired, type StoredApiKey } from '#actors/tenant/state'
import type { Principal } from '#model/caller'
import { idOfCrn } from '#model/crn'
import type { Entry } from '#model/entry'
import { covers } from '#model/grant-coverage'
import { everything, type Grant, isPermitted, type Scope, scopeOf } from '#model/scope'
import type { System } from '#runtime/system'

export interface AuthorsParts {
  readonly system: System<Entry>
  readonly accesses: Accesses
  readonly now: () => number
}

/** Whether the user exists, and the user's mail address; null: no address. */
export interface Recipient {
  readonly isActive: boolean
  readonly address: string | null
}

/**
 * Whether a key's roles were within its maker's scope, for these two scopes. `access` is referenced so that its scope
 * stays.
 */
interface MakerCheck {
  readonly access: Access | undefined
  readonly maker: Scope
  readonly own: Scope
  readonly isGiven: boolean
}

/**
 * The present rights of authors: users and keys that made something that outlives their session (an alarm, an action,
 * a subscription, a code, an API key), and the address for mails to them. No session is needed. Contract 5.1, 5.7.
 */
export class Authors {
  readonly #parts: AuthorsParts
  readonly #judged = new WeakMap<StoredApiKey, MakerCheck>()
  /**
   * Tenants with API keys whose makers belong to another tenant, by the makers' tenant. Only for keys that were used.
   */
  readonly #givenBy = new Map<string, Set<string>>()

  constructor(parts: AuthorsParts) {
    this.#parts = parts
  }

  /**
   * `author`: `crn#user:…`, or `crn#key:…` of an API key. Empty for a deleted or disabled user, for a key that ended,
   * and for anything made while authentication was off. The operator owns the machine and keeps all rights. @throws
   * Problem `storage` while the store is being read
   */
  scopeOf(tenant: string, author: string): Scope {
    if (author === operator.user) return tenant === defaultTenant ? everything : nothing
    return this.#accessOf(tenant, author)?.scope ?? nothing
  }

  /**
   * `author` as for `scopeOf`. Keys and the operator have no address. Only a stored address is returned: a crash
   * could take back any other. @throws Problem `storage` while the store is being read
   */
  addressOf(tenant: string, author: string): Recipient {
    const user = this.#userOf(tenant, author)
    if (user) return { isActive: true, address: user.email }
    const isOperator = author === operator.user && tenant === defaultTenant
    return { isActive: isOperator || this.#accessOf(tenant, author) !== undefined, address: null }
  }

  /**
   * Whether the maker of a code or an API key may still give these grants in this tenant: otherwise an edit of the
   * roles for their holder would also give the maker more rights. Contract 2, Model. @throws Problem `storage` while
   * the store is being read
   */
  mayGive(maker: Principal, tenant: string, grants: readonly Grant[]): boolean {
    const scope = this.scopeOf(maker.tenant, maker.user)
    const isEntitledThere =
      maker.tenant === tenant || isPermitted(scope, 'tenants', 'create') || isPermitted(scope, 'tenants', 'update')
    return isEntitledThere && covers(scope, grants)
  }

  /** An API key that has not ended; it may be suspended. */
  keyOf(tenant: string, id: string): StoredApiKey | undefined {
    const { accesses, system, now } = this.#parts
    const key = accesses.hasTenant(tenant) ? system.wake(tenantAddress(tenant)).apiKeys.get(id) : undefined
    return key && !isExpired(key, now()) ? key : undefined
  }

  /** Whether the maker of an API key may still give its roles; it is suspended while this is false. */
  isGiven(tenant: string, key: StoredApiKey): boolean {
    const { createdBy: maker, roles } = key
    if (!maker) return true
    if (maker.tenant !== tenant) this.#remember(maker.tenant, tenant)
    const scope = this.scopeOf(maker.tenant, maker.user)
    const own = this.#parts.accesses.of(tenant, roles).scope
    const before = this.#judged.get(key)
    if (before?.maker === scope && before.own === own) return before.isGiven
    const isGiven = this.mayGive(maker, tenant, own.grants)
    this.#judged.set(key, { access: this.#accessOf(maker.tenant, maker.user), maker: scope, own, isGiven })
    return isGiven
  }

  /** Other tenants in which rules may depend on rights in this one. */
  dependentsOf(tenant: string): Iterable<string> {
    return this.#givenBy.get(tenant) ?? []
  }

  #remember(by: string, tenant: string): void {
    const tenants = this.#givenBy.get(by)
    if (tenants) tenants.add(tenant)
    else this.#givenBy.set(by, new Set([tenant]))
  }

  #userOf(tenant: string, author: string): PublishedUser | undefined {
    const user = this.#parts.accesses.user(idOfCrn(author, 'user') ?? '')
    return user?.tenant === tenant ? user : undefined
  }

  #accessOf(tenant: string, author: string): Access | undefined {
    const { accesses } = this.#parts
    if (!accesses.hasTenant(tenant)) return undefined
    const user = this.#userOf(tenant, author)
    if (user) return accesses.of(tenant, user.roles)
    const key = this.keyOf(tenant, idOfCrn(author, 'key') ?? '')
    return key && this.isGiven(tenant, key) ? accesses.of(tenant, key.roles) : undefined
  }
}

const nothing = scopeOf([])
