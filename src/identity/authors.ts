import { defaultTenant } from '#actors/tenant/address'
import { isExpired } from '#actors/tenant/state'
import type { Accesses } from '#iam/accesses'
import type { ActorStates } from '#identity/actor-states'
import { operator } from '#identity/operator'
import { idOfCrn } from '#model/crn'
import { everything, type Scope, scopeOf } from '#model/scope'

export interface AuthorsParts {
  readonly states: ActorStates
  readonly accesses: Accesses
  readonly now: () => number
}

/**
 * What somebody may do now who made something that goes on without him: an alarm, an action. By the roles that he holds
 * now, whether anybody is signed in or not. Contract 5.1.
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

  #rolesOf(tenant: string, author: string): readonly string[] | undefined {
    const { accesses, states, now } = this.#parts
    if (!accesses.hasTenant(tenant)) return undefined
    const user = accesses.user(idOfCrn(author, 'user') ?? '')
    if (user) return user.tenant === tenant ? user.roles : undefined
    const key = states.tenant(tenant).apiKeys.get(idOfCrn(author, 'key') ?? '')
    return key && !isExpired(key, now()) ? key.roles : undefined
  }
}

const nothing = scopeOf([])
