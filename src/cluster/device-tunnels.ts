import type { ClusterNode } from '#cluster/node'
import { Tunnel, TunnelledLink } from '#cluster/tunnel'
import { tunnelHost } from '#cluster/tunnel-host'
import type { TunnelRequest } from '#cluster/tunnel-records'
import { type AnyWebsocketRoute, type UpgradeRequest, websocketRoute } from '#http/call'
import type { Socket, SocketHandler } from '#runtime/socket'
import type { World } from '#runtime/world'

export interface DeviceTunnelsOptions {
  readonly world: World
  readonly node: ClusterNode
  /** The base path of the API. */
  readonly basePath: string
  readonly bug: (error: unknown) => void
}

/**
 * Carries the connections of devices to the owner. One connection between the nodes carries all of them. The owner
 * decides the order and acknowledges. When that connection breaks, or the owner changes, the connections of the devices
 * are closed with 1012, and the devices continue after the last frame that was stored. Contract 11.
 */
export class DeviceTunnels {
  readonly #options: DeviceTunnelsOptions
  readonly #routes = new Map<string, AnyWebsocketRoute>()
  #tunnel: Tunnel | undefined

  constructor(options: DeviceTunnelsOptions) {
    this.#options = options
    const { node } = options
    // A former owner that hangs does not close its connections.
    node.onOwnerChanged(() => {
      if (this.#tunnel && this.#tunnel.place.href !== node.ownerUrl) this.#tunnel.close()
    })
  }

  /** The websocket by which other nodes reach the routes that were passed to `carry`. */
  get host(): AnyWebsocketRoute {
    const { world, node, bug } = this.#options
    return tunnelHost({ world, node, routes: this.#routes, bug })
  }

  /** The websocket of a route that every node offers. The owner answers its messages. */
  carry(route: AnyWebsocketRoute): AnyWebsocketRoute {
    const { node } = this.#options
    const { handler } = route
    const links = new Map<Socket, TunnelledLink>()
    const of = (socket: Socket) => links.get(socket) ?? handler
    this.#routes.set(route.path, route)
    const own: SocketHandler<unknown> = {
      opened(socket, opening) {
        if (!(opening instanceof TunnelledLink)) {
          handler.opened(socket, opening)
          return
        }
        links.set(socket, opening)
        opening.join(socket)
      },
      received: (socket, data, isBinary) => of(socket).received(socket, data, isBinary),
      dropped: (socket) => of(socket).dropped(socket),
      drained: (socket) => of(socket).drained(socket),
      ponged: (socket) => of(socket).ponged(socket),
      closed(socket, code) {
        of(socket).closed(socket, code)
        links.delete(socket)
      },
    }
    return websocketRoute({
      ...route,
      handler: own,
      upgrade: async (request) => {
        const headers = (name: string, value: string) => request.addReplyHeader(name, value)
        const link = node.isOwner ? undefined : await this.#open(requestOf(route.path, request), headers)
        return link ?? (await route.upgrade(request))
      },
    })
  }

  /**
   * Carries a connection that is not a websocket to the owner's websocket of this path. Undefined: this node is the
   * owner.
   * @throws Problem with which the owner refuses the connection; `storage` without an owner
   */
  async connect(route: string, socket: Socket): Promise<TunnelledLink | undefined> {
    const { remoteAddress } = socket
    const forwarded = { origins: [], host: '', address: remoteAddress }
    const absent = { query: '', parameters: {}, protocol: '', authorization: '', requestId: '' }
    const link = await this.#open({ ...absent, route, path: route, forwarded, remoteAddress }, () => {})
    link?.join(socket)
    return link
  }

  /** This node stops: ends all connections that it carries. */
  stop(): void {
    this.#tunnel?.stop()
  }

  async #open(
    request: TunnelRequest,
    addReplyHeader: (name: string, value: string) => void,
  ): Promise<TunnelledLink | undefined> {
    const { node } = this.#options
    for (const deadline = node.deadline(); ; await node.pause(deadline)) {
      const { place } = node
      if (place === 'here') return undefined
      const tunnel = place && this.#tunnelTo(place)
      const link = tunnel && (await tunnel.opened) && (await tunnel.open(request, addReplyHeader))
      if (link) return link
    }
  }

  #tunnelTo(place: URL): Tunnel {
    const { world, basePath, node } = this.#options
    if (!this.#tunnel || this.#tunnel.place.href !== place.href || this.#tunnel.isClosed) {
      this.#tunnel?.close()
      this.#tunnel = new Tunnel(world, place, basePath, node.key)
    }
    return this.#tunnel
  }
}

/** Copies the request, which is valid only until the first wait. */
function requestOf(route: string, request: UpgradeRequest): TunnelRequest {
  const { path, query, parameters, protocol, remoteAddress, requestId, forwarded } = request
  const { origins, host, address } = forwarded
  const authorization = request.header('authorization')
  const seen = { origins, host, address }
  return { route, path, query, parameters, protocol, authorization, forwarded: seen, remoteAddress, requestId }
}
