import type { SocketPublisher } from '#runtime/socket'
import type { World } from '#runtime/world'

/** More UTF-16 units do not wait, so that a slow socket is noticed in time. */
const waitingUnitsMax = 64 * 1024
/** More deliveries (messages × sockets) do not wait. They take about 10 ms. */
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
 * loop, so that each socket gets all of them at once: with many sockets this takes half of the time.
 */
export class LocalTopics implements SocketPublisher {
  readonly #world: World
  readonly #websockets: SocketPublisher
  readonly #topics = new Map<string, Topic>()
  /** Topics with waiting messages. */
  #due: Topic[] = []

  constructor(world: World, websockets: SocketPublisher) {
    this.#world = world
    this.#websockets = websockets
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
    const count = known.waiting.push(text)
    if (count === 1 && this.#due.push(known) === 1) this.#world.soon(() => this.flush())
    if (known.units > waitingUnitsMax || count * known.sockets.size > waitingDeliveriesMax) this.flush()
  }

  /** Sends waiting messages now. Call it before anything that must come after them. */
  flush(): void {
    for (const topic of this.#due.splice(0)) {
      const messages = topic.waiting
      topic.waiting = []
      topic.units = 0
      for (const socket of topic.sockets) socket.receive(messages)
    }
  }
}
