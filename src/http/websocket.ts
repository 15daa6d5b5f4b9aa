import type { TemplatedApp, us_socket_context_t, WebSocket } from 'uWebSockets.js'
import type { AnyWebsocketRoute } from '#http/call'
import type { Exchange } from '#http/exchange'
import { isAcceptable, openExchange, refuseAndCut, upgradeRequired } from '#http/request-handler'
import { type PathTable, pathTable } from '#http/request-head'
import type { ServerContext } from '#http/server-context'
import { type LostMessageGuard, type SocketRoute, type SocketSource, UwsSocket } from '#http/uws-socket'
import { Problem } from '#model/problem'

/** The data of a websocket: the result of its upgrade, and its `UwsSocket` once it is open. */
interface SocketData extends SocketSource {
  readonly opening: unknown
  socket: UwsSocket | undefined
}

/**
 * Accepts websockets at one path for their handler.
 *
 * Pings, idle limits and compression of uWebSockets.js are off: handlers ping themselves, and compression costs most of
 * the throughput. An exception of a handler ends its socket with 1011. The socket ends in a later tick, because no
 * socket may end during a report of a lost message.
 */
export function serveSockets(
  app: TemplatedApp,
  context: ServerContext,
  sockets: Set<UwsSocket>,
  lostMessageGuard: LostMessageGuard,
  template: string,
  route: AnyWebsocketRoute,
): void {
  const { handler, maxPayloadBytes, maxBackpressureBytes } = route
  const path = pathTable([{ method: 'GET', template, binding: route }])
  const metrics = context.metrics.socket(route.path)

  const attempt = (socket: UwsSocket, task: (socket: UwsSocket) => void) => {
    try {
      task(socket)
    } catch (error) {
      context.log.server.error(
        { err: error, requestId: socket.requestId, path: template },
        'a websocket handler failed',
      )
      context.world.soon(() => socket.end(1011, 'internal error'))
    }
  }
  /** After the server ended a socket, its messages in transit are dropped. */
  const whenOpen = (websocket: WebSocket<SocketData>, task: (socket: UwsSocket) => void) => {
    const { socket } = websocket.getUserData()
    if (socket?.isOpen) attempt(socket, task)
  }
  const place: SocketRoute = {
    world: context.world,
    lostMessageGuard,
    closed(socket, code) {
      sockets.delete(socket)
      metrics.ended(code)
      attempt(socket, () => handler.closed(socket, code))
    },
  }

  app.ws<SocketData>(template, {
    idleTimeout: 0,
    sendPingsAutomatically: false,
    compression: 0,
    maxPayloadLength: maxPayloadBytes,
    maxBackpressure: maxBackpressureBytes,
    closeOnBackpressureLimit: false,

    upgrade(response, request, socketContext) {
      openExchange(context, response, request, (exchange) => upgrade(exchange, path, route, template, socketContext))
    },
    open(websocket) {
      const carried = websocket.getUserData()
      const socket = new UwsSocket(websocket, carried, place)
      carried.socket = socket
      sockets.add(socket)
      metrics.opened++
      whenOpen(websocket, () => handler.opened(socket, carried.opening))
    },
    message(websocket, message, isBinary) {
      whenOpen(websocket, (socket) => handler.received(socket, new Uint8Array(message), isBinary))
    },
    dropped(websocket) {
      whenOpen(websocket, (socket) => {
        // The event fires again for each later loss until the buffer shrinks.
        if (socket.isBehind) return
        socket.isBehind = true
        lostMessageGuard.during(() => handler.dropped(socket))
      })
    },
    drain(websocket) {
      const { socket } = websocket.getUserData()
      if (socket?.isOpen) {
        socket.isBehind = false
        attempt(socket, () => handler.drained(socket))
      } else socket?.drained()
    },
    pong(websocket) {
      whenOpen(websocket, (socket) => handler.ponged(socket))
    },
    close(websocket, code) {
      websocket.getUserData().socket?.disconnected(code)
    },
  })
}

function upgrade(
  exchange: Exchange,
  path: PathTable<AnyWebsocketRoute>,
  route: AnyWebsocketRoute,
  template: string,
  socketContext: us_socket_context_t,
): void {
  if (!isAcceptable(exchange, 'upgrade')) return
  if (exchange.bodyLength !== 0) {
    // A proxy may read the data as a body, while this server would read it as frames.
    refuseAndCut(exchange, 'an upgrade has no body')
    return
  }
  const match = path.match('GET', exchange.path)
  // uWebSockets.js does not decode parameters. A path with a parameter that cannot be decoded has no match here.
  if (!match || !('binding' in match)) throw new Problem('not_found')
  exchange.route = template
  exchange.metrics = exchange.context.metrics.route(route.path)
  if (exchange.context.isStopping) throw new Problem('stopping')
  if (!isHandshake(exchange)) {
    exchange.respond(upgradeRequired)
    return
  }
  const protocol = negotiate(exchange.header('sec-websocket-protocol'), route.protocols)
  const opening = route.upgrade({
    method: 'GET',
    path: exchange.path,
    query: exchange.query,
    parameters: match.rawParameters,
    header: (name) => exchange.header(name),
    headerCount: (name) => exchange.headerCount(name),
    get forwarded() {
      return exchange.forwarded
    },
    remoteAddress: exchange.remoteAddress,
    requestId: exchange.requestId,
    protocol,
    addReplyHeader: (name, value) => exchange.addReplyHeader(name, value),
  })
  exchange.proceed(opening, (decided) => open(exchange, protocol, decided, socketContext))
}

function open(exchange: Exchange, protocol: string, opening: unknown, socketContext: us_socket_context_t): void {
  if (!exchange.isOpen) return
  if (exchange.context.isStopping) throw new Problem('stopping')
  const { remoteAddress, requestId } = exchange
  const carried: SocketData = { opening, remoteAddress, requestId, socket: undefined }
  exchange.upgrade((response) => {
    exchange.begin(101)
    // Before the upgrade: it opens the socket at once, and the response is invalid after it.
    exchange.finish(0)
    response.writeStatus('101 Switching Protocols').writeHeader('X-Request-Id', requestId)
    response.upgrade(carried, exchange.header('sec-websocket-key'), protocol, '', socketContext)
  })
}

/**
 * Whether the request is a valid handshake. RFC 6455 §4.2.1. `Connection` is checked too, because a proxy that leaves
 * it out has not agreed to the upgrade, and would send the next request of another client to a websocket.
 */
function isHandshake(exchange: Exchange): boolean {
  return (
    exchange.header('sec-websocket-version') === '13' &&
    /^[A-Za-z0-9+/]{22}==$/.test(exchange.header('sec-websocket-key')) &&
    hasToken(exchange.header('upgrade'), 'websocket') &&
    hasToken(exchange.header('connection'), 'upgrade')
  )
}

function hasToken(list: string, wanted: string): boolean {
  return list.split(',').some((token) => token.trim().toLowerCase() === wanted)
}

/** The first offered subprotocol that the route has. A route with subprotocols requires one of them. */
function negotiate(offered: string, known: readonly string[] | undefined): string {
  if (!known) return ''
  const protocol = offered.split(',').find((token) => known.includes(token.trim()))
  if (protocol === undefined)
    throw new Problem('bad_request', `Sec-WebSocket-Protocol must offer ${known.join(' or ')}`)
  return protocol.trim()
}
