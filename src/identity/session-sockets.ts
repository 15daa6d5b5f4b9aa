import type { Caller, SessionKey } from '#iam/caller'
import { idOfCrn } from '#model/crn'
import { type CloseReason, closeCodes } from '#runtime/close-codes'
import type { Socket } from '#runtime/socket'
import type { World } from '#runtime/world'

/** Sockets closed in one go: each tells its room, and everybody else waits. */
const endedAtOnceMax = 200

export interface SessionSocketsParts {
  readonly world: World
  /** Who that is now; undefined once the session is over. */
  readonly callerOf: (session: SessionKey) => Caller | undefined
}

/** Sockets by whose session they hang on: when it ends, so do they. Contract 2, Sessions. */
export class SessionSockets {
  readonly #parts: SessionSocketsParts
  readonly #callers = new Map<Socket, Caller>()
  readonly #bySession = new Map<string, Set<Socket>>()
  readonly #byUser = new Map<string, Set<Socket>>()

  constructor(parts: SessionSocketsParts) {
    this.#parts = parts
  }

  /**
   * A socket that was just opened. Answers who its caller is now, by whom it has to be judged: an upgrade may have taken
   * a while. Undefined: the session is over, and the socket is about to be closed with 4401.
   */
  add(socket: Socket, caller: Caller): Caller | undefined {
    const { session } = caller
    if (!session) {
      this.#callers.set(socket, caller)
      return caller
    }
    const now = caller.isCurrent() ? caller : this.#parts.callerOf(session)
    if (!now) {
      this.#parts.world.soon(() => socket.end(closeCodes.sessionOver.code, closeCodes.sessionOver.reason))
      return undefined
    }
    this.#callers.set(socket, now)
    addTo(this.#bySession, sessionText(session), socket)
    addTo(this.#byUser, userText(now), socket)
    return now
  }

  /** Undoes `add`. Anything that was not added is none of ours. */
  remove(socket: Socket): void {
    const caller = this.#callers.get(socket)
    if (!caller) return
    this.#callers.delete(socket)
    if (!caller.session) return
    dropFrom(this.#bySession, sessionText(caller.session), socket)
    dropFrom(this.#byUser, userText(caller), socket)
  }

  /** The caller of this socket is this one from now on: the same person with other rights. */
  replace(socket: Socket, caller: Caller): void {
    if (this.#callers.has(socket)) this.#callers.set(socket, caller)
  }

  endSession(session: SessionKey, reason: CloseReason): void {
    this.end([...(this.#bySession.get(sessionText(session)) ?? [])], reason)
  }

  /** Never within whatever tells us: closing tells rooms. In batches: there may be thousands. */
  end(sockets: readonly Socket[], reason: CloseReason): void {
    if (sockets.length === 0) return
    this.#parts.world.soon(() => {
      for (const socket of sockets.slice(0, endedAtOnceMax)) {
        if (this.#callers.has(socket)) socket.end(reason.code, reason.reason)
      }
      this.end(sockets.slice(endedAtOnceMax), reason)
    })
  }

  /** `user`: bare id. */
  ofUser(tenant: string, user: string): readonly Socket[] {
    return [...(this.#byUser.get(`${tenant}/${user}`) ?? [])]
  }

  callerOf(socket: Socket): Caller | undefined {
    return this.#callers.get(socket)
  }

  all(): Iterable<readonly [Socket, Caller]> {
    return this.#callers
  }

  get size(): number {
    return this.#callers.size
  }
}

function sessionText({ kind, tenant, id }: SessionKey): string {
  return `${kind}/${tenant}/${id}`
}

/** An API key is no user: its sockets are found by the key alone. */
function userText({ tenant, user }: Caller): string {
  return `${tenant}/${idOfCrn(user, 'user') ?? user}`
}

function addTo(index: Map<string, Set<Socket>>, key: string, socket: Socket): void {
  const sockets = index.get(key)
  if (sockets) sockets.add(socket)
  else index.set(key, new Set([socket]))
}

function dropFrom(index: Map<string, Set<Socket>>, key: string, socket: Socket): void {
  const sockets = index.get(key)
  if (sockets?.delete(socket) && sockets.size === 0) index.delete(key)
}
