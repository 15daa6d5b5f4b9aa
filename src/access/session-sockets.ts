import type { Caller, SessionKey } from '#model/caller'
import { idOfCrn } from '#model/crn'
import { eventKinds } from '#model/event'
import { addTo, removeFrom } from '#model/map-values'
import { isPermitted, type Scope } from '#model/scope'
import { type CloseReason, closeCodes } from '#runtime/close-codes'
import type { Socket } from '#runtime/socket'
import type { World } from '#runtime/world'

/** The number of sockets that one task of the event loop closes. For each socket, a handler runs. */
const endedAtOnceMax = 200

export interface SessionSocketsParts {
  readonly world: World
  /** The current caller; undefined once the session is over. */
  readonly callerOf: (session: SessionKey) => Caller | undefined
}

/** Sockets with one access, and whether it allows any event. */
interface AccessSockets {
  readonly sockets: Set<Socket>
  mayRead: boolean
}

/**
 * Sockets by the session they depend on. When the session ends, its sockets are closed (4401). If a change of rights
 * leaves a socket no event that it may receive, the socket is closed too (4403). A socket that was opened without such
 * an event stays open, but silent. Contract 2, 4.7.
 */
export class SessionSockets {
  readonly #parts: SessionSocketsParts
  readonly #callers = new Map<Socket, Caller>()
  readonly #bySession = new Map<string, Set<Socket>>()
  readonly #byUser = new Map<string, Set<Socket>>()
  readonly #byAccess = new Map<string, AccessSockets>()
  readonly #ofApiKeys = new Set<Socket>()

  constructor(parts: SessionSocketsParts) {
    this.#parts = parts
  }

  /**
   * Adds a new socket. Returns its current caller, because rights may have changed during the upgrade. Undefined: the
   * session is over, and the socket will be closed with 4401.
   */
  add(socket: Socket, caller: Caller): Caller | undefined {
    const { session } = caller
    const now = !session || caller.isCurrent() ? caller : this.#parts.callerOf(session)
    if (!now) {
      const { code, reason } = closeCodes.sessionOver
      this.#parts.world.soon(() => socket.end(code, reason))
      return undefined
    }
    this.#callers.set(socket, now)
    if (!session) return now
    addTo(this.#bySession, sessionText(session), socket)
    addTo(this.#byUser, userText(now), socket)
    if (session.kind === 'api_key') this.#ofApiKeys.add(socket)
    this.#join(socket, now)
    return now
  }

  /** Undoes `add`. A socket that was not added is ignored. */
  remove(socket: Socket): void {
    const caller = this.#callers.get(socket)
    if (!caller) return
    this.#callers.delete(socket)
    if (!caller.session) return
    removeFrom(this.#bySession, sessionText(caller.session), socket)
    removeFrom(this.#byUser, userText(caller), socket)
    this.#ofApiKeys.delete(socket)
    this.#leave(socket, caller)
  }

  /** Gives the socket another access; its session stays the same. */
  move(socket: Socket, caller: Caller): void {
    const before = this.#callers.get(socket)
    if (!before) return
    const couldRead = this.#leave(socket, before)
    this.#callers.set(socket, caller)
    const mayRead = this.#join(socket, caller)
    if (couldRead && !mayRead) this.end([socket], closeCodes.notPermitted)
  }

  /** Call when the scopes of these accesses changed. */
  redefined(tenant: string, changed: ReadonlyMap<string, Scope>): void {
    for (const [access, scope] of changed) {
      const known = this.#byAccess.get(accessText(tenant, access))
      if (!known) continue
      const couldRead = known.mayRead
      known.mayRead = readsEvents(scope)
      if (couldRead && !known.mayRead) this.end([...known.sockets], closeCodes.notPermitted)
    }
  }

  endSession(session: SessionKey, reason: CloseReason): void {
    this.end([...(this.#bySession.get(sessionText(session)) ?? [])], reason)
  }

  endTenant(tenant: string, reason: CloseReason): void {
    const sockets = [...this.#callers].filter(([, caller]) => caller.session?.tenant === tenant)
    this.end(
      sockets.map(([socket]) => socket),
      reason,
    )
  }

  /** Closes the sockets later, in batches: there may be thousands. */
  end(sockets: readonly Socket[], reason: CloseReason): void {
    if (sockets.length === 0) return
    this.#parts.world.soon(() => {
      for (const socket of sockets.slice(0, endedAtOnceMax)) {
        if (this.#callers.has(socket)) socket.end(reason.code, reason.reason)
      }
      this.end(sockets.slice(endedAtOnceMax), reason)
    })
  }

  /** `user`: id without `crn#user:`. */
  ofUser(tenant: string, user: string): readonly Socket[] {
    return [...(this.#byUser.get(`${tenant}/${user}`) ?? [])]
  }

  /** The caller for whom the socket was opened, or last moved. */
  callerOf(socket: Socket): Caller | undefined {
    return this.#callers.get(socket)
  }

  ofApiKeys(): Iterable<Socket> {
    return this.#ofApiKeys
  }

  all(): Iterable<readonly [Socket, Caller]> {
    return this.#callers
  }

  get size(): number {
    return this.#callers.size
  }

  /** Returns whether sockets with this access may receive any event. */
  #join(socket: Socket, { tenant, access, scope }: Caller): boolean {
    const key = accessText(tenant, access)
    const known = this.#byAccess.get(key)
    if (known) {
      known.sockets.add(socket)
      return known.mayRead
    }
    const mayRead = readsEvents(scope)
    this.#byAccess.set(key, { sockets: new Set([socket]), mayRead })
    return mayRead
  }

  /** Returns whether sockets with this access may receive any event. */
  #leave(socket: Socket, { tenant, access }: Caller): boolean {
    const key = accessText(tenant, access)
    const known = this.#byAccess.get(key)
    if (!known) return false
    known.sockets.delete(socket)
    if (known.sockets.size === 0) this.#byAccess.delete(key)
    return known.mayRead
  }
}

function sessionText({ kind, tenant, id }: SessionKey): string {
  return `${kind}/${tenant}/${id}`
}

/** For an API key, which is no user, the text contains its CRN, which is no user's id. */
function userText({ tenant, user }: Caller): string {
  return `${tenant}/${idOfCrn(user, 'user') ?? user}`
}

function accessText(tenant: string, access: string): string {
  return `${tenant}/${access}`
}

const eventResources = [...new Set(Object.values(eventKinds).map(({ resource }) => resource))]

/** Whether this scope allows any event at all. Contract 4.8. */
function readsEvents(scope: Scope): boolean {
  return eventResources.some((resource) => isPermitted(scope, resource, 'read'))
}
