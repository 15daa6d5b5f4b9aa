import { type Scope, scopeOf } from '#model/scope'

/**
 * The credential that a caller's access depends on: when the credential ends, the caller's requests and sockets end
 * too.
 */
export interface SessionKey {
  readonly kind: 'session' | 'api_key'
  readonly tenant: string
  readonly id: string
}

/** A user or an API key of a tenant. */
export type Principal = Pick<Caller, 'tenant' | 'user'>

/** The key of a principal among all tenants: tenant names contain no "/". */
export function principalKey({ tenant, user }: Principal): string {
  return `${tenant}/${user}`
}

/** An authenticated caller with the present permissions. */
export interface Caller {
  /** The id of the tenant, not its resource name. */
  readonly tenant: string
  /** CRN of the user, or of the API key that acts as a user. */
  readonly user: string
  readonly name: string
  readonly roles: readonly string[]
  readonly scope: Scope
  /**
   * Names the scope within the tenant. Callers with the same roles share this name. Sockets with the same name and
   * filter share an audience class.
   */
  readonly access: string
  /**
   * The offset in the tenant's stream at which the scope last changed for this caller; -1 if the scope never changed.
   * Contract 4.4.
   */
  readonly scopeSince: number
  /** Undefined if the access can't end: authentication is off, or the caller is unauthenticated. */
  readonly session?: SessionKey
  /** Thumbprint of the key whose proof came with the request. RFC 9449 §6.1. */
  readonly jkt?: string
  /** False once the session ended or the scope changed: running answers are then cut off. */
  isCurrent(): boolean
  /**
   * The present state of this caller: the same object while it is current, an object with other permissions after a
   * change, or undefined once the session ended. Call `now` each time after waiting for a further part of the request.
   * @throws Problem `storage` while the store is being read
   */
  now(): Caller | undefined
}

/** The caller of a request that needs no authentication. This caller has no permissions. */
export const unauthenticated: Caller = {
  tenant: '',
  user: '',
  name: '',
  roles: [],
  scope: scopeOf([]),
  access: '',
  scopeSince: -1,
  isCurrent: () => true,
  now() {
    return this
  },
}
