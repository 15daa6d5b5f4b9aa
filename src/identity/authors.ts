import { defaultTenant } from '#actors/tenant/address'
import { isExpired } from '#actors/tenant/state'
import type { Accesses, PublishedUser } from '#iam/accesses'
import type { ActorStates } from '#identity/actor-states'
import { operator } from '#identity/operator'
import { idOfCrn } from '#model/crn'
import { everything, type Scope, scopeOf } from '#model/scope'

export interface AuthorsParts {
  readonly states: ActorStates
  readonly accesses: Accesses
  readonly now: () => number
}

/** Whether somebody is there, and where mails reach him; null: nowhere. */
export interface Recipient {
  readonly isActive: boolean
  readonly address: string | null
}

/**
 * What somebody may do now who made something that goes on without him: an alarm, an action, a subscription; and where he
 * hears of it. By the roles and the address that he has now, whether anybody is signed in or not. Contract 5.1, 5.7.
 */
export class Authors {
  readonly #parts: AuthorsParts

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
    const roles = this.#rolesOf(tenant, author)
    return roles ? this.#parts.accesses.of(tenant, roles).scope : nothing
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
    return { isActive: isOperator || this.#rolesOf(tenant, author) !== undefined, address: null }
  }

  #userOf(tenant: string, author: string): PublishedUser | undefined {
    const user = this.#parts.accesses.user(idOfCrn(author, 'user') ?? '')
    return user?.tenant === tenant ? user : undefined
  }

  #rolesOf(tenant: string, author: string): readonly string[] | undefined {
    const { accesses, states, now } = this.#parts
    if (!accesses.hasTenant(tenant)) return undefined
    const user = this.#userOf(tenant, author)
    if (user) return user.roles
    const key = states.tenant(tenant).apiKeys.get(idOfCrn(author, 'key') ?? '')
    return key && !isExpired(key, now()) ? key.roles : undefined
  }
}

const nothing = scopeOf([])
