import type { Access, Accesses, PublishedUser } from '#access/accesses'
import { operator } from '#access/operator'
import { defaultTenant, tenantAddress } from '#actors/tenant/address'
import { isExpired, type StoredApiKey } from '#actors/tenant/state'
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

/** Whether somebody is there, and where mails reach him; null: nowhere. */
export interface Recipient {
  readonly isActive: boolean
  readonly address: string | null
}

/** Whether a key's roles were within its maker's scope, for these two scopes. `access` is held so that its scope stays. */
interface Judged {
  readonly access: Access | undefined
  readonly maker: Scope
  readonly own: Scope
  readonly isGiven: boolean
}

/**
 * The present rights of authors: users and keys that made something which goes on without them (an alarm, an action, a
 * subscription, a code, an API key), and the address that mails to them go to. No session is needed. Contract 5.1, 5.7.
 */
export class Authors {
  readonly #parts: AuthorsParts
  readonly #judged = new WeakMap<StoredApiKey, Judged>()
  /** Tenants with API keys whose makers belong to another tenant, by that tenant. Only those of keys that were used. */
  readonly #givenBy = new Map<string, Set<string>>()

  constructor(parts: AuthorsParts) {
    this.#parts = parts
  }

  /**
   * `author`: `crn#user:…`, or `crn#key:…` of the API key that acted as one. Nothing for who is gone or disabled, for a key
   * that ended, and for what was made while nobody had to sign in. The operator is whoever owns the machine: he keeps all.
   * @throws Problem `storage` while the store is being read
   */
  scopeOf(tenant: string, author: string): Scope {
    if (author === operator.user) return tenant === defaultTenant ? everything : nothing
    return this.#accessOf(tenant, author)?.scope ?? nothing
  }

  /**
   * By the same names. Nowhere for a key and for the operator, who have no account. An address is told as it is stored: one
   * that a crash takes back was never his.
   * @throws Problem `storage` while the store is being read
   */
  addressOf(tenant: string, author: string): Recipient {
    const user = this.#userOf(tenant, author)
    if (user) return { isActive: true, address: user.email }
    const isOperator = author === operator.user && tenant === defaultTenant
    return { isActive: isOperator || this.#accessOf(tenant, author) !== undefined, address: null }
  }

  /**
   * Whether the maker of a code or an API key may still give these grants in this tenant: otherwise an edit of roles, made
   * for the one who holds them, would give its maker more than anybody meant to. Contract 2, Model.
   * @throws Problem `storage` while the store is being read
   */
  mayGive(maker: Principal, tenant: string, grants: readonly Grant[]): boolean {
    const scope = this.scopeOf(maker.tenant, maker.user)
    const isEntitledThere =
      maker.tenant === tenant || isPermitted(scope, 'tenants', 'create') || isPermitted(scope, 'tenants', 'update')
    return isEntitledThere && covers(scope, grants)
  }

  /** An API key that did not end; it may be suspended. */
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

  /** Other tenants in which something may count by what is allowed in this one. */
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
