import type { SocketRoom } from '#runtime/socket'

/** What an upgrade shows of itself. */
export interface UpgradeRequest {
  /** Path and raw query as they came. */
  readonly path: string
  readonly query: string
  readonly parameters: Readonly<Record<string, string>>
  /** By lower-case name; empty when absent. */
  header(name: string): string
  readonly remoteAddress: string
  readonly requestId: string
  /** The subprotocol agreed on; empty when the route has none. */
  readonly protocol: string
  /** Added to the answer of an upgrade that is refused. */
  addReplyHeader(name: string, value: string): void
}

/**
 * One path for websockets. `upgrade` decides on each and gives what the room is opened with; a Problem thrown is the
 * answer instead.
 */
export interface WebsocketRoute<Opening> {
  /** Below the base path, parameters as `:name`. */
  readonly path: string
  readonly room: SocketRoom<Opening>
  upgrade(request: UpgradeRequest): Opening | Promise<Opening>
  /** A larger message closes the socket (1009 to the client, 1006 to the room). */
  readonly maxPayloadBytes: number
  /** Above this much unsent, messages are lost: see `SocketRoom.dropped`. */
  readonly maxBackpressureBytes: number
  /** Subprotocols. With some, an upgrade that offers none of them is refused with 400; the first offered wins. */
  readonly protocols?: readonly string[]
}

/** A route of any opening; each room only ever meets the openings of its own `upgrade`. */
export type AnyWebsocketRoute = WebsocketRoute<unknown>

export function websocketRoute<Opening>(route: WebsocketRoute<Opening>): AnyWebsocketRoute {
  return route as AnyWebsocketRoute
}
