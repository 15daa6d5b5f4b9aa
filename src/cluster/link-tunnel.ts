import { WebSocket } from 'ws'
import { sendable, wireText } from '#cluster/forwarder'
import { type ClusterNode, nodeKeyHeader } from '#cluster/node'
import { type AnyWebsocketRoute, type UpgradeRequest, websocketRoute } from '#http/websocket-route'
import { Problem, type ProblemCode } from '#model/problem'
import { closeCodes } from '#runtime/close-codes'
import type { Socket, SocketHandler } from '#runtime/socket'
import type { World } from '#runtime/world'

export interface LinkTunnelOptions {
  readonly world: World
  readonly node: ClusterNode
  /** The websocket of devices on this node, with which the owner answers. */
  readonly route: AnyWebsocketRoute
  /** The path of the route on every node. */
  readonly path: string
}

/** The connection to the owner that carries the frames of one device connection. */
interface Tunnel {
  readonly owner: WebSocket
  readonly place: URL
}

/** Unsent bytes of one direction above which the sender is not served any more. */
const bufferedBytesMax = 1024 * 1024

/** How long the connection to the owner waits for the device's. */
const joinMsMax = 10_000

const problemsByStatus: Readonly<Record<number, ProblemCode>> = {
  400: 'bad_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  429: 'too_many_requests',
}

/**
 * Carries device connections to the owner, each by a connection of its own, so that order and acknowledgements are
 * those of the owner. When the connection to the owner breaks, the device is closed with 1012 and continues at the new
 * owner after the last frame that was stored. Contract 11.
 */
export function tunnelledLinks({ world, node, route, path }: LinkTunnelOptions): AnyWebsocketRoute {
  const tunnels = new Map<Socket, Tunnel>()
  const { room } = route
  const own: SocketHandler<unknown> = {
    opened(socket, opening) {
      if (!isTunnel(opening)) {
        room.opened(socket, opening)
        return
      }
      tunnels.set(socket, opening)
      join(world, socket, opening.owner)
    },
    received(socket, data, isBinary) {
      const tunnel = tunnels.get(socket)
      if (!tunnel) room.received(socket, data, isBinary)
      else if (tunnel.owner.bufferedAmount > bufferedBytesMax) {
        world.soon(() => socket.end(closeCodes.tryLater.code, closeCodes.tryLater.reason))
      } else tunnel.owner.send(isBinary ? Uint8Array.from(data) : Buffer.from(data).toString(), { binary: isBinary })
    },
    dropped(socket) {
      const tunnel = tunnels.get(socket)
      // A lost message must not be followed by later ones.
      if (tunnel) world.soon(() => socket.end(closeCodes.tryLater.code, closeCodes.tryLater.reason))
      else room.dropped(socket)
    },
    drained(socket) {
      if (!tunnels.has(socket)) room.drained(socket)
    },
    ponged(socket) {
      const tunnel = tunnels.get(socket)
      if (tunnel) tunnel.owner.pong()
      else room.ponged(socket)
    },
    closed(socket, code) {
      const tunnel = tunnels.get(socket)
      tunnels.delete(socket)
      if (tunnel) leave(tunnel.owner, code)
      else room.closed(socket, code)
    },
  }
  // A node that stands still does not close its connections.
  node.onOwnerChanged(() => {
    for (const { owner, place } of tunnels.values()) if (place.href !== node.ownerUrl) owner.terminate()
  })
  return websocketRoute({
    ...route,
    room: own,
    async upgrade(request) {
      if (node.isOwner) return await route.upgrade(request)
      if (node.isKey(request.header(nodeKeyHeader))) throw new Problem('storage')
      for (const deadline = node.deadline(node.now()); ; await node.pause(deadline)) {
        const { place } = node
        if (place === 'here') return await route.upgrade(request)
        const owner = place && (await connectTo(place, path, request, node.key))
        if (!owner) continue
        // The device may have gone meanwhile: then the room never opens.
        world.after(joinMsMax, () => owner.isPaused && owner.terminate())
        return { owner, place } satisfies Tunnel
      }
    },
  })
}

function isTunnel(opening: unknown): opening is Tunnel {
  return typeof opening === 'object' && opening !== null && 'owner' in opening
}

/** Undefined: that node is not reached, or is not the owner. @throws Problem as the owner refused the upgrade */
function connectTo(place: URL, path: string, request: UpgradeRequest, key: string): Promise<WebSocket | undefined> {
  const url = new URL(path, place)
  url.protocol = place.protocol === 'https:' ? 'wss:' : 'ws:'
  url.search = request.query
  const headers: Record<string, string> = { Host: wireText(request.header('host')), [nodeKeyHeader]: key }
  const authorization = request.header('authorization')
  if (authorization !== '') headers.Authorization = wireText(authorization)
  const lines = request.headersForNode
  for (let index = 0; index < lines.length; index += 2) headers[lines[index] ?? ''] = wireText(lines[index + 1] ?? '')
  const options = { headers, autoPong: false, perMessageDeflate: false }
  const owner = sendable(() => new WebSocket(url, request.protocol === '' ? [] : [request.protocol], options))
  return new Promise((resolve, reject) => {
    owner.once('open', () => {
      // Until the connection of the device is open.
      owner.pause()
      resolve(owner)
    })
    owner.once('unexpected-response', (_, response) => {
      response.resume()
      const code = problemsByStatus[response.statusCode ?? 0]
      const retryAfter = response.headers['retry-after']
      if (code) reject(new Problem(code, undefined, retryAfter ? { headers: { 'Retry-After': retryAfter } } : {}))
      else resolve(undefined)
    })
    owner.on('error', () => resolve(undefined))
  })
}

function join(world: World, socket: Socket, owner: WebSocket): void {
  const { restarting } = closeCodes
  if (owner.readyState !== WebSocket.OPEN) {
    world.soon(() => socket.end(restarting.code, restarting.reason))
    return
  }
  owner.on('message', (data: Buffer, isBinary) => {
    socket.send(isBinary ? data : data.toString())
  })
  // The device itself answers, so that the owner notices a dead one.
  owner.on('ping', () => socket.ping())
  owner.on('close', (code, reason) => {
    const isBroken = code === 1006 || code === 1005
    world.soon(() => socket.end(isBroken ? restarting.code : code, isBroken ? restarting.reason : reason.toString()))
  })
  owner.resume()
}

function leave(owner: WebSocket, code: number): void {
  for (const event of ['message', 'ping', 'close'] as const) owner.removeAllListeners(event)
  owner.close(closeCodeOf(code))
}

/** 1005 and 1006 describe a closure and can't be sent. RFC 6455 §7.4.1. */
function closeCodeOf(code: number): number {
  return code === 1005 || code === 1006 || code < 1000 ? 1000 : code
}
