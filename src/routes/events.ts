import type { SessionSockets } from '#access/session-sockets'
import { createTicket, EventsQuery } from '#api/events'
import type { EventFilter } from '#events/audience'
import type { Hub, Resume } from '#events/hub'
import type { Authenticate } from '#http/authentication'
import { type AnyWebsocketRoute, type Binding, bind, type UpgradeRequest, websocketRoute } from '#http/call'
import { mapMaybePromise } from '#http/reply'
import { parseQuery } from '#http/request-head'
import { validate } from '#http/validation'
import type { Caller } from '#model/caller'
import { deviceIdentifierOf, serviceIdentifierOf } from '#model/identifier'
import { Problem } from '#model/problem'
import type { RouteContext } from '#routes/context'
import { closeCodes } from '#runtime/close-codes'
import { ConcurrencyLimit } from '#runtime/fair-queue'
import { Liveness } from '#runtime/liveness'
import type { Socket, SocketHandler } from '#runtime/socket'
import type { World } from '#runtime/world'

/**
 * The limit of unsent bytes of one subscriber. Above it messages are lost, and the subscriber gets a RESYNC. The hub
 * usually stops far below, at half a megabyte; the rest is for the events that one commit publishes.
 */
const backpressureBytesMax = 16 * 1024 * 1024

/** Above the limit for client messages, so that the server can close the socket with a code of its own. */
const payloadBytesMax = 256 * 1024

/** The limit of names in one field of a filter: each device of a filter is an entry in the index of receivers. */
const filterNamesMax = 1_000

export function eventRoutes(context: RouteContext): Binding[] {
  return [
    bind(createTicket, ({ caller }) => ({
      status: 200,
      headers: { 'Cache-Control': 'no-store' },
      json: { ticket: context.events.tickets.issue(caller) },
    })),
  ]
}

export interface EventSocketParts {
  readonly handler: EventSocketHandler
  readonly authenticate: Authenticate
  /** Uses a ticket. @throws Problem `unauthorized` */
  readonly callerOfTicket: (ticket: string) => Caller | Promise<Caller>
  /** On a node of a cluster: waits for the events that the client had received from another node. */
  readonly awaitPosition?: ((opening: EventsOpening) => Promise<void>) | undefined
}

/**
 * `GET /events/:ticket`, and `GET /events` for clients that can send headers, with the rights that a ticket needs.
 * Contract 4.1.
 */
export function eventSockets({
  handler,
  authenticate,
  callerOfTicket,
  awaitPosition,
}: EventSocketParts): AnyWebsocketRoute[] {
  const open = (request: UpgradeRequest) => (caller: Caller) => {
    const decided = opening(handler, caller, request)
    return awaitPosition ? awaitPosition(decided).then(() => decided) : decided
  }
  const limits = { maxPayloadBytes: payloadBytesMax, maxBackpressureBytes: backpressureBytesMax, handler }
  return [
    websocketRoute<EventsOpening>({
      ...limits,
      path: '/events/:ticket',
      upgrade: (request) => mapMaybePromise(callerOfTicket(request.parameters.ticket ?? ''), open(request)),
    }),
    websocketRoute<EventsOpening>({
      ...limits,
      path: '/events',
      upgrade: (request) => mapMaybePromise(authenticate(request, 'session'), open(request)),
    }),
  ]
}

function opening(handler: EventSocketHandler, caller: Caller, request: UpgradeRequest): EventsOpening {
  const query = validate(EventsQuery, parseQuery(request.query)) as EventsQuery
  const decided = { caller, filter: filterOf(query), resume: resumeOf(query) }
  handler.checkLimits(decided)
  return decided
}

function resumeOf({ epoch, offset }: EventsQuery): Resume {
  if (offset === undefined) return undefined
  return offset === 'now' ? 'now' : { after: { epoch: epoch ?? '', offset } }
}

function filterOf({ types, devices, services }: EventsQuery): EventFilter {
  return {
    // An empty list counts as none: a filter that matches nothing would be of no use.
    ...(types?.length && { types: names('types', types, (name) => name) }),
    ...(devices?.length && { devices: names('devices', devices, deviceIdentifierOf) }),
    ...(services?.length && { services: names('services', services, serviceIdentifierOf) }),
  }
}

/** Names in their normal form. @throws Problem `invalid` for invalid names */
function names(
  field: string,
  given: readonly string[],
  normal: (name: string) => string | undefined,
): ReadonlySet<string> {
  const refuse = (message: string) => new Problem('invalid', undefined, { details: [{ path: field, message }] })
  if (given.length > filterNamesMax) throw refuse(`must be at most ${filterNamesMax}`)
  return new Set(
    given.map((name) => {
      const known = normal(name)
      if (known === undefined) throw refuse(`${name.slice(0, 64)} is not a valid identifier`)
      return known
    }),
  )
}

/** The data that an upgrade determined for an event websocket. */
export interface EventsOpening {
  readonly caller: Caller
  readonly filter: EventFilter
  readonly resume: Resume
}

/** Registers sockets by session; returns the current caller, unless the session is over. */
type Sessions = Pick<SessionSockets, 'add' | 'remove'>

/**
 * One account may serve an application with many users. A change of its roles costs about 20 µs for each of its
 * sockets.
 */
const defaultSocketsPerUserMax = 1_000
/** A tenant may have as many sockets as this many of its users. */
const socketUsersMax = 100
/** A name costs about 320 bytes, so this is 32 MB: enough for 1 000 sockets with 100 names each. */
const filterNamesPerUserMax = 100_000
/** The filters of a tenant may have as many names as those of this many users. */
const filterUsersMax = 10

/** Maximum size of a client's message. Contract 4.7. */
const messageBytesMax = 4 * 1024

/** Websockets of event subscribers: their messages and their keep-alive. The hub sends the events. Contract 4. */
export class EventSocketHandler implements SocketHandler<EventsOpening> {
  readonly #hub: Hub
  readonly #world: World
  readonly #sessions: Sessions | undefined
  readonly #liveness: Liveness<Socket>
  readonly #limits: { readonly sockets: ConcurrencyLimit; readonly names: ConcurrencyLimit }
  /** The caller for which each socket and its filter are counted. */
  readonly #counted = new Map<Socket, EventsOpening>()
  /** Sockets with an unanswered PING. */
  readonly #owed = new Set<Socket>()

  /** `sessions`: absent while authentication is off. */
  constructor(world: World, hub: Hub, socketsPerUserMax = defaultSocketsPerUserMax, sessions?: Sessions) {
    this.#hub = hub
    this.#world = world
    this.#sessions = sessions
    const limitOf = (things: string, perUserMax: number, users: number) =>
      new ConcurrencyLimit({ things, perUserMax, perTenantMax: users * perUserMax })
    this.#limits = {
      sockets: limitOf('event sockets', socketsPerUserMax, socketUsersMax),
      names: limitOf('names in filters of event sockets', filterNamesPerUserMax, filterUsersMax),
    }
    this.#liveness = new Liveness(world, (socket) => socket, {
      dead: (socket) => this.#end(socket, closeCodes.dead),
    })
  }

  /** Call it before an upgrade. @throws Problem `too_many_requests` */
  checkLimits({ caller, filter }: EventsOpening): void {
    this.#limits.sockets.check(caller)
    this.#limits.names.check(caller, nameCountOf(filter))
  }

  /** If the session ended during the upgrade, the socket gets no events and is closed. */
  opened(socket: Socket, opening: EventsOpening): void {
    const { caller, filter, resume } = opening
    this.#limits.sockets.enter(caller)
    this.#limits.names.enter(caller, nameCountOf(filter))
    this.#counted.set(socket, opening)
    const now = this.#sessions ? this.#sessions.add(socket, caller) : caller
    if (!now) return
    const { tenant, user, access, scope, scopeSince } = now
    this.#hub.add(socket, { tenant, user, access, scope, scopeSince, filter }, resume)
    this.#liveness.watch(socket)
  }

  /** Answers PING with the position. Ignores other JSON, for future clients. Closes the socket after other bytes. */
  received(socket: Socket, data: Uint8Array, isBinary: boolean): void {
    this.#liveness.touch(socket)
    const message = isBinary || data.byteLength > messageBytesMax ? unreadable : parse(data)
    if (message === unreadable) {
      this.#end(socket, closeCodes.badMessage)
      return
    }
    if (typeof message !== 'object' || message === null || (message as { type?: unknown }).type !== 'PING') return
    this.#pong(socket)
  }

  dropped(socket: Socket): void {
    this.#hub.dropped(socket)
  }

  drained(socket: Socket): void {
    this.#liveness.touch(socket)
    this.#hub.drained(socket)
    if (this.#owed.has(socket)) this.#pong(socket)
  }

  ponged(socket: Socket): void {
    this.#liveness.touch(socket)
  }

  closed(socket: Socket): void {
    const counted = this.#counted.get(socket)
    this.#counted.delete(socket)
    if (counted) {
      this.#limits.sockets.leave(counted.caller)
      this.#limits.names.leave(counted.caller, nameCountOf(counted.filter))
    }
    this.#liveness.forget(socket)
    this.#owed.delete(socket)
    this.#sessions?.remove(socket)
    this.#hub.remove(socket)
  }

  stop(): void {
    this.#liveness.stop()
  }

  /**
   * Sends the position, now or later: a socket with a full buffer gets nothing, and a socket with a pending RESYNC has
   * no position.
   */
  #pong(socket: Socket): void {
    const position = this.#hub.positionOf(socket)
    if (position && socket.send(JSON.stringify({ type: 'PONG', ...position }))) this.#owed.delete(socket)
    else this.#owed.add(socket)
  }

  /** Deferred, because ending calls `closed` synchronously. */
  #end(socket: Socket, { code, reason }: { readonly code: number; readonly reason: string }): void {
    this.#world.soon(() => socket.end(code, reason))
  }
}

function nameCountOf({ types, devices, services }: EventFilter): number {
  return (types?.size ?? 0) + (devices?.size ?? 0) + (services?.size ?? 0)
}

const unreadable = Symbol('unreadable')

function parse(data: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString())
  } catch {
    return unreadable
  }
}
