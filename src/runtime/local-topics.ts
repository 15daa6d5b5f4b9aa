import type { SocketPublisher } from '#runtime/socket'
import type { World } from '#runtime/world'

/** If more UTF-16 units than this wait for a topic, they are sent at once, so that a slow socket is noticed in time. */
const waitingUnitsMax = 64 * 1024
/** If more deliveries (messages × sockets) than this wait in all, they are sent at once. This takes about 10 ms. */
const waitingDeliveriesMax = 128 * 1024

/** A socket of this process that the websocket server does not know. */
export interface LocalSocket {
  /** Receives published messages, in order. All sockets of a topic get the same list. */
  receive(messages: readonly string[]): void
}

interface Topic {
  readonly sockets: Set<LocalSocket>
  waiting: string[]
  /** The length of `waiting` in UTF-16 units. */
  units: number
}

/**
 * Publishes to websockets and to local sockets. Messages for local sockets wait until the end of the cycle of the event
 * loop, so that each socket gets all of them at once: with many sockets this takes half as long.
 */
export class LocalTopics implements SocketPublisher {
  readonly #world: World
  readonly #websockets: SocketPublisher
  readonly #topics = new Map<string, Topic>()
  readonly #failed: (error: unknown) => void
  /** Topics with waiting messages. */
  readonly #due: Topic[] = []
  #waitingDeliveries = 0

  /** `failed`: called if a local socket throws. The other sockets get their messages all the same. */
  constructor(world: World, websockets: SocketPublisher, failed: (error: unknown) => void) {
    this.#world = world
    this.#websockets = websockets
    this.#failed = failed
  }

  subscribe(topic: string, socket: LocalSocket): void {
    this.flush()
    const known = this.#topics.get(topic)
    if (known) known.sockets.add(socket)
    else this.#topics.set(topic, { sockets: new Set([socket]), waiting: [], units: 0 })
  }

  unsubscribe(topic: string, socket: LocalSocket): void {
    this.flush()
    const known = this.#topics.get(topic)
    if (known?.sockets.delete(socket) && known.sockets.size === 0) this.#topics.delete(topic)
  }

  publish(topic: string, message: string | Uint8Array): void {
    this.#websockets.publish(topic, message)
    const known = this.#topics.size === 0 ? undefined : this.#topics.get(topic)
    if (!known) return
    // The bytes may change after this call.
    const text = typeof message === 'string' ? message : Buffer.from(message).toString()
    known.units += text.length
    this.#waitingDeliveries += known.sockets.size
    if (known.waiting.push(text) === 1 && this.#due.push(known) === 1) this.#world.soon(() => this.flush())
    if (known.units > waitingUnitsMax || this.#waitingDeliveries > waitingDeliveriesMax) this.flush()
  }

  /** Sends waiting messages now. Call it before sending anything that must come after them. */
  flush(): void {
    this.#waitingDeliveries = 0
    for (let topic = this.#due.shift(); topic; topic = this.#due.shift()) {
      const messages = topic.waiting
      topic.waiting = []
      topic.units = 0
      for (const socket of topic.sockets) this.#give(socket, messages)
    }
  }

  #give(socket: LocalSocket, messages: readonly string[]): void {
    try {
      socket.receive(messages)
    } catch (error) {
      this.#failed(error)
    }
  }
}
