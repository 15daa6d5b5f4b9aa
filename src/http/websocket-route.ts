import type { AuthenticationRequest } from '#http/authenticate'
import type { SocketRoom } from '#runtime/socket'

/** What an upgrade shows of itself. */
export interface UpgradeRequest extends AuthenticationRequest {
  readonly parameters: Readonly<Record<string, string>>
  readonly remoteAddress: string
  /** The subprotocol agreed on; empty when the route has none. */
  readonly protocol: string
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
