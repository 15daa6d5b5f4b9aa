import type { AuthenticationRequest } from '#http/authentication'
import type { SocketHandler } from '#runtime/socket'

/** The parts of an upgrade request that a route reads. */
export interface UpgradeRequest extends AuthenticationRequest {
  readonly parameters: Readonly<Record<string, string>>
  readonly remoteAddress: string
  /** The negotiated subprotocol; empty when the route has none. */
  readonly protocol: string
}

/**
 * One path for websockets. `upgrade` decides on each request and returns the data for the handler's `opened`. If it
 * throws a Problem, this is the answer.
 */
export interface WebsocketRoute<Opening> {
  /** The path below the base path, with parameters as `:name`. */
  readonly path: string
  readonly handler: SocketHandler<Opening>
  upgrade(request: UpgradeRequest): Opening | Promise<Opening>
  /** A larger message closes the socket (1009 to the client, 1006 to the handler). */
  readonly maxPayloadBytes: number
  /** Above this many unsent bytes, messages are lost: see `SocketHandler.dropped`. */
  readonly maxBackpressureBytes: number
  /**
   * Subprotocols. If there are any, an upgrade that offers none of them is refused with 400. Of these, the first that
   * the client offers is used.
   */
  readonly protocols?: readonly string[]
}

/** A route with any opening data; each handler only gets the data of its own `upgrade`. */
export type AnyWebsocketRoute = WebsocketRoute<unknown>

export function websocketRoute<Opening>(route: WebsocketRoute<Opening>): AnyWebsocketRoute {
  return route as AnyWebsocketRoute
}
