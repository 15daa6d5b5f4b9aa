import type { Socket, SocketHandler, SocketPublisher } from '#runtime/socket'
import type { World } from '#runtime/world'

type Handler = SocketHandler<unknown>

export class PublishFault extends Error {}

/** The client side of a simulated socket. */
export interface Peer {
  received(message: string): void
  /** A message is on its way, and not received yet. */
  sent?(message: string): void
  closed(code: number): void
}

/**
 * Websockets in memory with the measured behavior of uWebSockets.js: publishes are handed over together, later or with
 * the next `send`; above its limit a socket loses messages, and the server is notified of the first lost message of each
 * series, in a call that allows no action; `drained` follows when the client has read some.
 */
export class SimulatedSockets implements SocketPublisher {
  readonly #world: World
  readonly #sockets = new Set<SimulatedSocket>()
  isDropping = false
  /** The next published event throws. */
  failsNext = false

  constructor(world: World) {
    this.#world = world
  }

  get sockets(): ReadonlySet<SimulatedSocket> {
    return this.#sockets
  }

  publish(topic: string, message: string | Uint8Array): void {
    if (this.isDropping) throw new Error('a publish inside dropped')
    if (this.failsNext && !text(message).startsWith('{"type":"RESYNC"')) {
      this.failsNext = false
      throw new PublishFault('a publish failed')
    }
    for (const socket of this.#sockets) socket.offer(topic, text(message))
  }

  open<Opening>(handler: SocketHandler<Opening>, opening: Opening, peer: Peer, limitBytes: number): SimulatedSocket {
    const socket = new SimulatedSocket(this, this.#world, handler as Handler, peer, limitBytes)
    this.#sockets.add(socket)
    handler.opened(socket, opening)
    return socket
  }

  remove(socket: SimulatedSocket): void {
    this.#sockets.delete(socket)
  }
}

export class SimulatedSocket implements Socket {
  readonly remoteAddress = '127.0.0.1'
  readonly #sockets: SimulatedSockets
  readonly #world: World
  readonly #handler: Handler
  readonly #peer: Peer
  readonly #limitBytes: number
  readonly #topics = new Set<string>()
  #published: string[] = []
  #buffer: string[] = []
  #bufferedBytes = 0
  #isLosing = false
  #isFlushScheduled = false
  isOpen = true

  constructor(sockets: SimulatedSockets, world: World, handler: Handler, peer: Peer, limitBytes: number) {
    this.#sockets = sockets
    this.#world = world
    this.#handler = handler
    this.#peer = peer
    this.#limitBytes = limitBytes
  }

  offer(topic: string, message: string): void {
    if (!this.#topics.has(topic)) return
    this.#published.push(message)
    if (this.#isFlushScheduled) return
    this.#isFlushScheduled = true
    this.#world.soon(() => this.#flush())
  }

  send(message: string | Uint8Array): boolean {
    this.#check('send')
    if (!this.isOpen) return false
    this.#flush()
    return this.#write(text(message))
  }

  cork(task: () => void): void {
    task()
  }

  bufferedBytes(): number {
    return this.isOpen ? this.#bufferedBytes : 0
  }

  subscribe(topic: string): void {
    this.#check('subscribe')
    this.#topics.add(topic)
  }

  unsubscribe(topic: string): void {
    this.#check('unsubscribe')
    this.#flush()
    this.#topics.delete(topic)
  }

  ping(): void {
    this.#check('ping')
    // The client answers, unless the ping is lost in a full buffer.
    if (this.isOpen && this.#bufferedBytes <= this.#limitBytes) {
      this.#world.soon(() => {
        if (this.isOpen) this.#handler.ponged(this)
      })
    }
  }

  end(code: number): void {
    this.#check('end')
    this.#close(code)
  }

  /** The client sends a message. */
  transmit(message: unknown): void {
    if (this.isOpen) this.#handler.received(this, Buffer.from(JSON.stringify(message)), false)
  }

  /** The client reads some messages. */
  read(countMax: number): void {
    const read = this.#buffer.splice(0, countMax)
    for (const message of read) this.#bufferedBytes -= message.length
    for (const message of read) if (this.isOpen) this.#peer.received(message)
    if (this.isOpen && read.length > 0) {
      this.#isLosing = false
      this.#handler.drained(this)
    }
  }

  get hasUnread(): boolean {
    return this.isOpen && (this.#buffer.length > 0 || this.#published.length > 0)
  }

  /** The connection breaks: unread messages are lost. */
  cut(): void {
    this.#close(1006)
  }

  /** The server process died: its callbacks are not called. */
  vanish(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.#sockets.remove(this)
    this.#peer.closed(1006)
  }

  #flush(): void {
    this.#isFlushScheduled = false
    const published = this.#published
    this.#published = []
    for (const message of published) if (this.isOpen) this.#write(message)
  }

  #write(message: string): boolean {
    if (this.#bufferedBytes > this.#limitBytes) {
      if (!this.#isLosing) this.#drop()
      return false
    }
    this.#buffer.push(message)
    this.#bufferedBytes += message.length
    this.#peer.sent?.(message)
    return true
  }

  #drop(): void {
    this.#isLosing = true
    this.#sockets.isDropping = true
    try {
      this.#handler.dropped(this)
    } finally {
      this.#sockets.isDropping = false
    }
  }

  #close(code: number): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.#sockets.remove(this)
    this.#handler.closed(this, code)
    this.#peer.closed(code)
  }

  #check(method: string): void {
    if (this.#sockets.isDropping) throw new Error(`${method} inside dropped`)
  }
}

function text(message: string | Uint8Array): string {
  return typeof message === 'string' ? message : Buffer.from(message).toString()
}
