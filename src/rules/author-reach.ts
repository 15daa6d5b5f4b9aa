import { createHash } from 'node:crypto'
import { includesName, unionOf } from '#model/device-names'
import type { Resource, Scope } from '#model/scope'

/**
 * The devices on which an author may read a service or another resource. An alarm or function counts only for devices
 * on which its author could read the same data directly. Contract 5.1.
 */
export interface AuthorReach {
  readonly isWhole: boolean
  readonly isNothing: boolean
  /** Equal if the devices are equal. */
  readonly digest: string
  holds(device: string): boolean
}

const whole: AuthorReach = { isWhole: true, isNothing: false, digest: '*', holds: () => true }
const nothing: AuthorReach = { isWhole: false, isNothing: true, digest: '', holds: () => false }

function reachOfAuthor(scope: Scope, resource: Resource, service?: string): AuthorReach {
  const all = scope.reaches(resource, 'read')
  const reaches = service === undefined ? all : all.filter(({ services }) => includesName(services, service))
  if (reaches.some(({ devices }) => devices === '*')) return whole
  const { names, prefixes } = unionOf(reaches)
  if (names.size + prefixes.length === 0) return nothing
  const terms = [...names, ...prefixes.map((prefix) => `${prefix}*`)].sort()
  return {
    isWhole: false,
    isNothing: false,
    digest: createHash('sha256').update(terms.join(' ')).digest('base64url'),
    holds: (device) => names.has(device) || prefixes.some((prefix) => device.startsWith(prefix)),
  }
}

/**
 * Caches the reaches of authors: each is computed once, because thousands of alarms have few authors. `forget` must be
 * called after a change of permissions.
 */
export class AuthorReaches {
  readonly #scopeOf: (author: string) => Scope
  readonly #scopes = new Map<string, Scope>()
  readonly #known = new Map<Scope, Map<string, AuthorReach>>()

  constructor(scopeOf: (author: string) => Scope) {
    this.#scopeOf = scopeOf
  }

  of(author: string, resource: Resource, service?: string): AuthorReach {
    let scope = this.#scopes.get(author)
    if (!scope) {
      scope = this.#scopeOf(author)
      this.#scopes.set(author, scope)
    }
    let reaches = this.#known.get(scope)
    if (!reaches) {
      reaches = new Map()
      this.#known.set(scope, reaches)
    }
    const asked = service === undefined ? resource : `${resource} ${service}`
    let reach = reaches.get(asked)
    if (!reach) {
      reach = reachOfAuthor(scope, resource, service)
      reaches.set(asked, reach)
    }
    return reach
  }

  forget(): void {
    this.#scopes.clear()
    this.#known.clear()
  }
}
