import { Audiences } from '#events/audience'
import type { Connection } from '#events/connection'

/** The open event sockets of one tenant. */
export class TenantHub {
  readonly tenant: string
  readonly audiences: Audiences
  readonly #connections = new Set<Connection>()
  readonly #byUser = new Map<string, Set<Connection>>()
  /** The last offset of which live sockets have everything. */
  told = 0
  /** Bytes of events since the buffers of all sockets were looked at. */
  unlookedBytes = 0

  constructor(tenant: string) {
    this.tenant = tenant
    this.audiences = new Audiences(`events/${tenant}`)
  }

  get connections(): ReadonlySet<Connection> {
    return this.#connections
  }

  add(connection: Connection): void {
    this.#connections.add(connection)
    const ofUser = this.#byUser.get(connection.user)
    if (ofUser) ofUser.add(connection)
    else this.#byUser.set(connection.user, new Set([connection]))
  }

  remove(connection: Connection): void {
    this.#connections.delete(connection)
    const ofUser = this.#byUser.get(connection.user)
    ofUser?.delete(connection)
    if (ofUser?.size === 0) this.#byUser.delete(connection.user)
    this.audiences.leave(connection.audience)
  }

  /** `user`: CRN. */
  ofUser(user: string): Iterable<Connection> {
    return this.#byUser.get(user) ?? []
  }
}
