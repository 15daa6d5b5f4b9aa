import { type Scope, scopeOf } from '#model/scope'

/** What a caller's right to be here hangs on: when it ends, so do his requests and sockets. */
export interface SessionKey {
  readonly kind: 'session' | 'api_key'
  readonly tenant: string
  readonly id: string
}

/** A user or an API key of a tenant. */
export type Principal = Pick<Caller, 'tenant' | 'user'>

/** Names a principal of any tenant: no tenant's name has a slash. */
export function principalKey({ tenant, user }: Principal): string {
  return `${tenant}/${user}`
}

/** Who is asking: known, with what he may do now. */
export interface Caller {
  /** Bare tenant id. */
  readonly tenant: string
  /** CRN of the user, or of the API key that acts as one. */
  readonly user: string
  readonly name: string
  readonly roles: readonly string[]
  readonly scope: Scope
  /** Names the scope within the tenant: who holds the same roles shares it, and the audience class of his sockets. */
  readonly access: string
  /** The offset in the tenant's stream at which the scope last became another for him; -1 never. Contract 4.4. */
  readonly scopeSince: number
  /** Undefined where nothing can end: IAM off, or nobody is known. */
  readonly session?: SessionKey
  /** Thumbprint of the key whose proof came with the request. RFC 9449 §6.1. */
  readonly jkt?: string
  /** False once the session is over or the scope is another: what is still being answered then breaks off. */
  isCurrent(): boolean
  /**
   * Who that is by now: himself while that is so, the same with other rights, or undefined once the session is over. Asked
   * after every wait for what a request still brings.
   * @throws Problem `storage` while the store is being read
   */
  now(): Caller | undefined
}

/** Who asks where nobody needs to be known: may do nothing. */
export const nobody: Caller = {
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
