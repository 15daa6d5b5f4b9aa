import type { Access, Accesses, PublishedUser } from '#access/accesses'
import { operator } from '#access/built-in-callers'
import { tenantAddress } from '#actors/tenant/commands'
import { defaultTenant, isExpired, type StoredApiKey } from '#actors/tenant/state'
import type { Principal } from '#model/caller'
import { idOfCrn } from '#model/crn'
import type { Entry } from '#model/entry'
import { covers } from '#model/grant-coverage'
import { addTo } from '#model/map-values'
import { everything, type Grant, isPermitted, type Scope, scopeOf } from '#model/scope'
import type { System } from '#runtime/system'

export interface AuthorsParts {
  readonly system: System<Entry>
  readonly accesses: Accesses
  readonly now: () => number
}

/** Whether an author still has rights, and the author's mail address; null: no address. */
export interface Recipient {
  readonly isActive: boolean
  readonly address: string | null
}

/**
 * The cached result of checking a key's roles against the scope of its creator. `access` is referenced so that it is
 * not collected. A new access would have another scope object, and the result would be computed again.
 */
interface CreatorCheck {
  readonly access: Access | undefined
  readonly creatorScope: Scope
  readonly keyScope: Scope
  readonly mayGiveRoles: boolean
}

/**
 * The present rights of authors, and their mail addresses. An author is a user or key that created something that
 * outlives the session: an alarm, an action, a subscription, a code, an API key. Contract 5.1, 5.7.
 */
export class Authors {
  readonly #parts: AuthorsParts
  readonly #checks = new WeakMap<StoredApiKey, CreatorCheck>()
  /**
   * Tenants with API keys whose creators belong to another tenant, by the creators' tenant. A key counts only after
   * `isKeyActive` has checked it.
   */
  readonly #tenantsByCreator = new Map<string, Set<string>>()

  constructor(parts: AuthorsParts) {
    this.#parts = parts
  }

  /**
   * `author`: `crn#user:…`, or `crn#key:…` of an API key. The scope is empty for a deleted or disabled user, for a key
   * that has ended or is suspended, and for anything made while authentication was off. The operator owns the machine
   * and keeps all rights in tenant `default`.
   * @throws Problem `storage` while the store is being read
   */
  scopeOf(tenant: string, author: string): Scope {
    if (author === operator.user) return tenant === defaultTenant ? everything : nothing
    return this.#accessOf(tenant, author)?.scope ?? nothing
  }

  /**
   * `author` as for `scopeOf`. Keys and the operator have no mail address. Only a stored address is returned, because a
   * crash could undo any other.
   *
   * @throws Problem `storage` while the store is being read
   */
  recipientOf(tenant: string, author: string): Recipient {
    const user = this.#userOf(tenant, author)
    if (user) return { isActive: true, address: user.email }
    const isOperator = author === operator.user && tenant === defaultTenant
    return { isActive: isOperator || this.#accessOf(tenant, author) !== undefined, address: null }
  }

  /**
   * Whether the creator of a code or an API key may still give these grants in this tenant. Without this check, a later
   * edit of the roles could give the creator more rights, because the creator knows the secret. Contract 2, Model.
   * @throws Problem `storage` while the store is being read
   */
  mayGive(creator: Principal, tenant: string, grants: readonly Grant[]): boolean {
    const scope = this.scopeOf(creator.tenant, creator.user)
    const isEntitledThere =
      creator.tenant === tenant || isPermitted(scope, 'tenants', 'create') || isPermitted(scope, 'tenants', 'update')
    return isEntitledThere && covers(scope, grants)
  }

  /** An API key that has not ended; it may be suspended. */
  keyOf(tenant: string, id: string): StoredApiKey | undefined {
    const { accesses, system, now } = this.#parts
    const key = accesses.hasTenant(tenant) ? system.wake(tenantAddress(tenant)).apiKeys.get(id) : undefined
    return key && !isExpired(key, now()) ? key : undefined
  }

  /** Whether the creator of an API key may still grant its roles. Otherwise the key is suspended. */
  isKeyActive(tenant: string, key: StoredApiKey): boolean {
    const { createdBy: creator, roles } = key
    if (!creator) return true
    if (creator.tenant !== tenant) addTo(this.#tenantsByCreator, creator.tenant, tenant)
    const scope = this.scopeOf(creator.tenant, creator.user)
    const keyScope = this.#parts.accesses.of(tenant, roles).scope
    const before = this.#checks.get(key)
    if (before?.creatorScope === scope && before.keyScope === keyScope) return before.mayGiveRoles
    const mayGiveRoles = this.mayGive(creator, tenant, keyScope.grants)
    this.#checks.set(key, {
      access: this.#accessOf(creator.tenant, creator.user),
      creatorScope: scope,
      keyScope,
      mayGiveRoles,
    })
    return mayGiveRoles
  }

  /** Other tenants in which rules may depend on rights in this tenant. */
  dependentsOf(tenant: string): Iterable<string> {
    return this.#tenantsByCreator.get(tenant) ?? []
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
    return key && this.isKeyActive(tenant, key) ? accesses.of(tenant, key.roles) : undefined
  }
}

const nothing = scopeOf([])
