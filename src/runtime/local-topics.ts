import type { Socket, SocketPublisher } from '#runtime/socket'

/** Publishes to websockets, and to sockets of this process that the websocket server does not know. */
export class LocalTopics implements SocketPublisher {
  readonly #websockets: SocketPublisher
  readonly #sockets = new Map<string, Set<Socket>>()

  constructor(websockets: SocketPublisher) {
    this.#websockets = websockets
  }

  subscribe(topic: string, socket: Socket): void {
    const sockets = this.#sockets.get(topic)
    if (sockets) sockets.add(socket)
    else this.#sockets.set(topic, new Set([socket]))
  }

  unsubscribe(topic: string, socket: Socket): void {
    const sockets = this.#sockets.get(topic)
    if (sockets?.delete(socket) && sockets.size === 0) this.#sockets.delete(topic)
  }

  publish(topic: string, message: string | Uint8Array): void {
    this.#websockets.publish(topic, message)
    const sockets = this.#sockets.size === 0 ? undefined : this.#sockets.get(topic)
    if (!sockets) return
    // The bytes may change after this call.
    const text = typeof message === 'string' ? message : Buffer.from(message).toString()
    for (const socket of sockets) socket.send(text)
  }
}
