import { createTicket, EventsQuery } from '#api/events'
import type { EventFilter } from '#events/audience'
import type { Resume } from '#events/hub'
import type { Authenticate } from '#http/authentication'
import { type Binding, bind } from '#http/call'
import { mapMaybePromise } from '#http/reply'
import { parseQuery } from '#http/request-head'
import { validate } from '#http/validation'
import { type AnyWebsocketRoute, type UpgradeRequest, websocketRoute } from '#http/websocket-route'
import type { Caller } from '#model/caller'
import { deviceIdentifierOf, serviceIdentifierOf } from '#model/identifier'
import { Problem } from '#model/problem'
import type { RouteContext } from '#routes/context'
import type { EventSocketHandler, EventsOpening } from '#routes/event-socket-handler'

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
      json: { ticket: context.tickets.issue(caller) },
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
      upgrade: (request) => mapMaybePromise(callerOfTicket(ticketOf(request)), open(request)),
    }),
    websocketRoute<EventsOpening>({
      ...limits,
      path: '/events',
      upgrade: (request) => mapMaybePromise(authenticate(request, 'session'), open(request)),
    }),
  ]
}

function ticketOf({ parameters: { ticket = '' } }: UpgradeRequest): string {
  return ticket
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
